internal import Policy
internal import Settings

/// Reads the keys for a user's login from another device (RFC 8628) or in a browser (RFC 8252).
extension SettingsReader {
  func readLogin(_ fields: Fields<OAuth2Key>, _ grant: OAuth2Grant, into token: inout TokenSource) {
    token.deviceAuthorization = fields[.deviceAuthorizationURL].flatMap {
      endpoint($0, like: "https://login.example.com/oauth2/device")
    }
    token.authorization = fields[.authorizationURL].flatMap {
      endpoint($0, like: "https://login.example.com/oauth2/authorize")
    }
    if let redirect = fields[.redirectURI].flatMap({ redirect($0) }) { token.redirect = redirect }
    if let time = duration(.loginTimeout, of: fields, "a person should not need longer to log in") {
      token.loginTimeout = time
    }
    guard grant == .authorizationCode, let node = fields[.issuer], let issuer = words(.issuer, fields) else { return }
    token.issuer = issuer
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
  }

  private func redirect(_ node: YAMLNode) -> LoopbackRedirect? {
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
