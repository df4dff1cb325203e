internal import Policy
import Primitives

/// A name in `allow_clients`.
struct ClientReference {
  let name: String
  let place: TextLocation
}

/// `clients` of a listener, and `allow_clients`.
extension SettingsReader {
  /// Each token is compared with all of them.
  private static let mostTokens = 256
  private static let hint = "\"bearerctl token NAME\" creates a token and prints the line to write here"

  func clients(_ node: YAMLNode) -> [Client] {
    var clients: [Client] = []
    for named in named(node, "the hash of its token") {
      if named.name.hasPrefix(ClientToken.prefix) {
        report.error(named.place, "this is a client token. Expected the name of a client", help: Self.hint)
        continue
      }
      let digests = digests(named)
      if let other = clients.first(where: { other in digests.contains { other.digests.contains($0) } }) {
        report.error(
          named.place, "client \"\(other.name)\" has the same token, so bearerd cannot distinguish the two clients",
          help: Self.hint)
      }
      clients.append(Client(name: named.name, digests: digests))
    }
    if node.isEmptyMapping {
      report.error(
        node.place, "\"clients\" is empty", help: "delete the line, or add a client: " + Self.hint)
    }
    if clients.map(\.digests.count).reduce(0, +) > Self.mostTokens {
      report.error(node.place, "a listener can have at most \(Self.mostTokens) client tokens")
    }
    return clients
  }

  /// One, or several while a token is being replaced.
  private func digests(_ named: Named) -> [TokenDigest] {
    guard case .sequence = named.value.content else { return [digest(named.value)].compactMap { $0 } }
    return (filledList(named.value, of: "hashes of tokens") ?? []).compactMap { digest($0) }
  }

  /// The text is never repeated: it may be the token itself.
  private func digest(_ node: YAMLNode) -> TokenDigest? {
    guard let text = text(node, "the hash of a client token, which is sha256/ and 44 characters of base64") else {
      return nil
    }
    if let digest = TokenDigest(parsing: text) { return digest }
    if text.hasPrefix(ClientToken.prefix) {
      report.error(
        node.place, "this is a client token. Only its hash is allowed here",
        help:
          "\"bearerctl token NAME --hash\" reads the token from standard input and prints the line. If others may have read this"
          + " file, create a new token: \"bearerctl token NAME\"")
    } else {
      report.error(
        node.place, "this is not the hash of a client token: expected sha256/ and 44 characters of base64",
        help: Self.hint)
    }
    return nil
  }

  func clientReferences(_ node: YAMLNode) -> [ClientReference] {
    if node.text?.hasPrefix(ClientToken.prefix) == true {
      report.error(node.place, "this is a client token. Expected names of clients")
      return []
    }
    return (filledList(node, of: "names of clients") ?? []).compactMap { node in
      text(node, "the name of a client").map { ClientReference(name: $0, place: node.place) }
    }
  }
}

/// Who may ask, with what the listeners say.
extension SettingsReader {
  /// Clients that are named where they cannot be.
  func check(
    _ references: [ClientReference], known: [Client], of listener: String?, addTo home: String
  ) {
    for reference in references where !known.contains(where: { $0.name == reference.name }) {
      // Only what is near a name is repeated: it could be the token itself.
      let nearest = Suggestion.nearest(to: reference.name, in: known.map(\.name))
      let missing = known.isEmpty ? "clients" : "client with this name"
      let message =
        listener.map { "listener \"\($0)\" has no \(missing)" }
        ?? "no listener has \(known.isEmpty ? "clients" : "a client with this name")"
      report.error(
        reference.place, message,
        help: nearest.map { "did you mean \"\($0)\"?" }
          ?? (known.isEmpty
            ? "\"bearerctl token NAME\" creates a token and prints the line to add to \(home)"
            : "known clients: \(known.prefix(20).map(\.name).joined(separator: ", "))"))
    }
  }

  /// A listener for other machines knows a caller there only by a token.
  func checkReach(of listener: ListenerDraft) {
    guard !listener.hasClients else { return }
    for (address, place) in listener.addresses {
      guard case .tcp(let ip, let port) = address, !ip.isLoopback else { continue }
      report.error(
        place,
        "other machines can reach \(ip.isUnspecified ? "this address" : "\(ip)"), and bearerd cannot know their users: client tokens are required",
        help:
          "write localhost:\(port), or run \"bearerctl token NAME\" and add its line under \(listener.admission): clients: { NAME: sha256/… }"
      )
    }
  }
}

extension [ListenerSettings.Address] {
  /// Whether a caller whose uid is known could come by one of them.
  var admitUsers: Bool {
    contains { address in
      switch address {
      case .localhost, .unix, .systemd: true
      case .tcp(let ip, _): ip.isLoopback || ip.isUnspecified
      }
    }
  }

  /// Whether a caller could come by one of them from another machine, as far as the file says.
  var reachOthers: Bool {
    contains { address in
      switch address {
      case .localhost, .unix, .systemd: false
      case .tcp(let ip, _): !ip.isLoopback
      }
    }
  }
}

extension ListenerSettings {
  package static func isClientName(_ text: String) -> Bool { SettingsReader.isName(text) }

  /// Whether a connection to this name ends at an address of another than this machine's own side.
  /// - Parameter authority: with port or without.
  package func isReachedByNetwork(as authority: String) -> Bool {
    guard addresses.reachOthers else { return false }
    if !addresses.admitUsers { return true }
    let isBracketed = authority.hasPrefix("[")
    let host = isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    return !(IPAddress(parsing: String(host))?.isLoopback ?? (ASCII.lowercased(String(host)) == "localhost"))
  }
}
