internal import Policy
import Primitives
internal import Settings

/// A name in `allow_clients`.
struct ClientReference {
  let name: String
  let location: TextLocation
}

/// Reads `clients` of a listener, and `allow_clients`.
struct ClientsReader: SectionReader {
  let context: ReadingContext

  private static let maxTokens = 256
  private static let hint = "\"bearerctl token NAME\" creates a token and prints the line to write here"

  func clients(_ node: YAMLNode) -> [Client] {
    var clients: [Client] = []
    for named in named(node, "the hash of its token") {
      if named.name.hasPrefix(ClientToken.prefix) {
        report.error(named.location, "this is a client token. Expected the name of a client", help: Self.hint)
        continue
      }
      let digests = digests(named)
      if let other = clients.first(where: { other in digests.contains { other.digests.contains($0) } }) {
        report.error(
          named.location, "client \"\(other.name)\" has the same token, so bearerd cannot distinguish the two clients",
          help: Self.hint)
      }
      clients.append(Client(name: named.name, digests: digests))
    }
    if node.isEmptyMapping {
      report.error(
        node.location, "\"clients\" is empty", help: "delete the line, or add a client: " + Self.hint)
    }
    if clients.map(\.digests.count).reduce(0, +) > Self.maxTokens {
      report.error(node.location, "a listener can have at most \(Self.maxTokens) client tokens")
    }
    return clients
  }

  /// Reads one or several hashes of a client's token.
  private func digests(_ named: Named) -> [TokenDigest] {
    guard case .sequence = named.value.content else { return [digest(named.value)].compactMap { $0 } }
    return (filledList(named.value, of: "hashes of tokens") ?? []).compactMap { digest($0) }
  }

  private func digest(_ node: YAMLNode) -> TokenDigest? {
    // Messages never repeat the text, which may be the token itself.
    guard let text = text(node, "the hash of a client token, which is sha256/ and 44 characters of base64") else {
      return nil
    }
    if let digest = TokenDigest(parsing: text) { return digest }
    if text.hasPrefix(ClientToken.prefix) {
      report.error(
        node.location, "this is a client token. Only its hash is allowed here",
        help:
          "\"bearerctl token NAME --hash\" reads the token from standard input and prints the line. If others may have read this"
          + " file, create a new token: \"bearerctl token NAME\"")
    } else {
      report.error(
        node.location, "this is not the hash of a client token: expected sha256/ and 44 characters of base64",
        help: Self.hint)
    }
    return nil
  }

  func clientReferences(_ node: YAMLNode) -> [ClientReference] {
    if node.text?.hasPrefix(ClientToken.prefix) == true {
      report.error(node.location, "this is a client token. Expected names of clients")
      return []
    }
    return (filledList(node, of: "names of clients") ?? []).compactMap { node in
      text(node, "the name of a client").map { ClientReference(name: $0, location: node.location) }
    }
  }
}

extension [ListenerSettings.Address] {
  /// Whether one of the addresses accepts connections from this machine.
  var admitLocalUsers: Bool {
    contains { address in
      switch address {
      case .localhost, .unix, .systemd: true
      case .tcp(let ip, _): ip.isLoopback || ip.isUnspecified
      }
    }
  }

  /// Whether other machines can reach one of the addresses.
  var areReachableByOthers: Bool {
    contains { address in
      switch address {
      case .localhost, .unix, .systemd: false
      case .tcp(let ip, _): !ip.isLoopback
      }
    }
  }
}

extension ListenerSettings {
  package static func isClientName(_ text: String) -> Bool { Named.isName(text) }

  /// Whether other machines can reach the address in `authority`, a host with or without a port.
  package func isReachedByNetwork(as authority: String) -> Bool {
    guard addresses.areReachableByOthers else { return false }
    if !addresses.admitLocalUsers { return true }
    let isBracketed = authority.hasPrefix("[")
    let host = isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    return !(IPAddress(parsing: String(host))?.isLoopback ?? (ASCII.lowercased(String(host)) == "localhost"))
  }
}
