internal import Policy
import Primitives
internal import Settings

extension TokenSource {
  /// The lowercase names of parameters that requests have. A URL must not have them again (RFC 6749 section 3.1).
  var sentNames: Set<String> {
    ProtocolParameters.names.union(parameters.map { ASCII.lowercased($0.name) })
  }
}

/// Reads the keys for a user's login from another device (RFC 8628) or in a browser (RFC 8252), and for its storage.
struct OAuth2LoginReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<OAuth2Key>

  func read(_ grant: OAuth2Grant, into token: inout TokenSource) {
    token.deviceAuthorization = endpointWithQuery(
      .deviceAuthorizationURL, of: fields, like: "https://login.example.com/oauth2/device", sent: token.sentNames)
    token.authorization = endpointWithQuery(
      .authorizationURL, of: fields, like: "https://login.example.com/oauth2/authorize", sent: token.sentNames)
    if let redirect = fields[.redirectURI].flatMap({ redirect($0) }) { token.redirect = redirect }
    let timeout = duration(.loginTimeout, of: fields, "a person should not need longer to log in")
    token.loginTimeout = timeout ?? token.loginTimeout
    if grant == .authorizationCode { token.issuer = issuer() }
    if grant.keys.contains(.store) { readStore(.store, of: fields, into: &token) }
  }

  private func issuer() -> String? {
    guard let node = fields[.issuer], let issuer = text(.issuer, of: fields) else { return nil }
    // RFC 9207 section 2
    let isPlain = issuer.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 && $0 != 0x3F }
    if !issuer.hasPrefix("https://") || !isPlain {
      report.error(
        node.location,
        "\(quoted(issuer)) is not valid: expected the issuer as an https URL, without query and fragment",
        help:
          "copy \"issuer\" from the server's metadata, or delete the line. Without an issuer, bearerd does not check \"iss\" in the response"
      )
    }
    return issuer
  }
}

extension SectionReader {
  /// Reads `store`: the word `memory`, or the path of the file for a stored login or refresh token (T39).
  func readStore<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>, into token: inout TokenSource) {
    if case .scalar("memory", _) = fields[key]?.content {
      token.keepsLoginInMemory = true
    } else {
      token.store = store(key, of: fields, for: token.credential)
    }
  }

  private func store<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>, for name: String) -> String? {
    let location = fields.valueLocation(of: key)
    let path: String
    if let node = fields[key] {
      guard let text = self.path(node, "the path of a file, or memory") else { return nil }
      path = text
    } else if let directory = environment.stateDirectory {
      path = "\(directory)/\(name).login"
    } else {
      return report.error(
        location, "there is no directory to store the login: neither STATE_DIRECTORY nor HOME is set",
        help: "add store: /PATH/\(name).login")
    }
    context.namedFiles.add(path, .store, at: location)
    return path
  }

  /// Reads a redirect URI on this machine.
  func redirect(_ node: YAMLNode) -> LoopbackRedirect? {
    guard let text = text(node, "a URL like http://127.0.0.1/callback") else { return nil }
    do throws(LoopbackRedirect.Problem) {
      return try LoopbackRedirect(parsing: text)
    } catch {
      switch error {
      case .name:
        report.error(
          node.location,
          "\(quoted(text)) has a host name: expected an IP address, because a name could resolve to another address (RFC 8252 section 8.3)",
          help: "write \(text.replacing("localhost", with: "127.0.0.1")), and register this URL with the server")
      case .other:
        report.error(
          node.location,
          "\(quoted(text)) is not valid: expected a URL like http://127.0.0.1/callback or http://[::1]:8080/callback, without query, fragment or % escapes",
          help:
            "if the URL has no port, bearerd uses any free port. Servers must accept every port (RFC 8252 section 7.3)")
      }
      return nil
    }
  }
}
