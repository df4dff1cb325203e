internal import Policy
import Primitives

/// Reads how the client authenticates at a token endpoint, and the parameters of its requests.
extension SettingsReader {
  private typealias ClientAuth = CredentialSettings.OAuth2.ClientAuth

  /// Parameters of token requests that bearerd sets itself.
  private static let ownNames: Set<String> = [
    "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "assertion", "scope",
    "resource", "audience", "refresh_token", "access_token", "id_token", "token", "token_type_hint", "username",
    "password", "code", "code_verifier", "code_challenge", "code_challenge_method", "redirect_uri", "response_type",
    "response_mode", "state", "nonce", "request", "request_uri", "device_code", "user_code", "subject_token",
    "subject_token_type", "actor_token", "actor_token_type", "requested_token_type",
  ]

  func readClient(_ fields: Fields<OAuth2Key>, into token: inout CredentialSettings.OAuth2) {
    token.clientID = words(.clientID, fields)
    token.clientSecret = secret(.clientSecret, fields, at: token.endpoint)
    token.privateKey = secret(.privateKey, fields, at: token.endpoint)
    token.keyID = words(.keyID, fields)
    let chosen = fields[.clientAuth].flatMap { choice($0, ClientAuth.allCases.map { ($0.rawValue, $0) }) }
    token.clientAuth = chosen ?? (fields.has(.clientSecret) ? .basic : .none)
    if fields.has(.clientAuth), chosen == nil { return }
    let location = fields.has(.clientAuth) ? fields.location(of: .clientAuth) : fields.location
    switch token.clientAuth {
    case .basic, .post:
      if !fields.has(.clientSecret) {
        missing(
          .clientSecret, in: fields, "client_auth \(token.clientAuth.rawValue) needs \"client_secret\"",
          help: "add client_secret: { file: NAME }")
      }
    case .privateKeyJWT:
      if !fields.has(.privateKey) {
        missing(
          .privateKey, in: fields, "client_auth private_key_jwt needs \"private_key\"",
          help: "add private_key: { file: NAME }")
      }
      if !fields.has(.clientID) {
        missing(
          .clientID, in: fields, "client_auth private_key_jwt needs \"client_id\"",
          help: "add client_id: NAME")
      }
    case .tlsClientAuth, .selfSignedTLSClientAuth:
      if token.certificate == nil {
        report.error(
          location, "client_auth \(token.clientAuth.rawValue) needs a client certificate (RFC 8705)",
          help:
            "add to the credential (not to \"oauth2\"): client_certificate: { certificate: NAME.pem, private_key: { file: NAME.key } }"
        )
      }
      if !fields.has(.clientID) {
        missing(
          .clientID, in: fields, "client_auth \(token.clientAuth.rawValue) needs \"client_id\"",
          help: "add client_id: NAME")
      }
    case .none:
      let isMeant = fields.isMisspelled(.clientSecret) || fields.isMisspelled(.privateKey)
      if token.grant == .clientCredentials, !isMeant {
        report.error(
          location, "grant client_credentials needs an authenticated client (RFC 6749 section 4.4)",
          help: "add client_secret: { file: NAME }, or private_key with client_auth: private_key_jwt")
      }
    }
    if fields.has(.clientSecret), token.clientAuth != .basic, token.clientAuth != .post {
      report.error(
        fields.location(of: .clientSecret), "client_auth \(token.clientAuth.rawValue) does not use a client secret",
        help: "delete it, or write client_auth: basic")
    }
    if fields.has(.privateKey), token.clientAuth != .privateKeyJWT, token.grant != .jwtBearer {
      report.error(
        fields.location(of: .privateKey), "this private key is not used",
        help: "delete it, or write client_auth: private_key_jwt")
    }
    for key in [OAuth2Key.keyID, .assertionAudience] where fields.has(key) && !fields.has(.privateKey) {
      report.error(
        fields.location(of: key), "\"\(key.rawValue)\" is allowed only with private_key", help: "delete the line")
    }
  }

  func readParameters(_ fields: Fields<OAuth2Key>, into token: inout CredentialSettings.OAuth2) {
    token.scope = scope(fields)
    token.resource = texts(.resource, fields, "an absolute URI like https://api.example.com").compactMap {
      text, location in
      // RFC 8707 section 2
      guard text.contains(":"), !text.contains("#"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        report.error(location, "\(quoted(text)) is not valid: expected an absolute URI without a fragment")
        return nil
      }
      return text
    }
    token.audience = texts(.audience, fields, "the name of an audience").map(\.text)
    token.parameters = namedValues(.parameters, fields, "parameter", Self.ownNames)
  }

  /// Reads additional parameters or claims, and reports names in `reserved`.
  /// - Parameter kind: `parameter` or `claim`, for messages.
  func namedValues(
    _ key: OAuth2Key, _ fields: Fields<OAuth2Key>, _ kind: String, _ reserved: Set<String>
  ) -> [CredentialSettings.OAuth2.Parameter] {
    guard let node = fields[key] else { return [] }
    return named(node, "a value").compactMap { entry in
      // Some servers ignore letter case.
      let name = ASCII.lowercased(entry.name)
      guard !reserved.contains(name) else {
        let own = OAuth2Key(rawValue: name).map { "write \"\($0.rawValue)\" next to \"\(key.rawValue)\", not in it" }
        report.error(
          entry.location,
          "\"\(entry.name)\" is not allowed here: bearerd sets this \(kind) itself",
          help: own ?? "delete the line")
        return nil
      }
      guard let value = scalar(entry.value, "a value") else { return nil }
      if SecretGuess.isLikely(value, after: "--" + entry.name) {
        report.warning(entry.value.location, "this looks like a secret, and everyone who can read this file can see it")
      }
      return CredentialSettings.OAuth2.Parameter(name: entry.name, value: value)
    }
  }

  /// Reads scopes, as a list or as one text with spaces (RFC 6749 section 3.3).
  private func scope(_ fields: Fields<OAuth2Key>) -> [String] {
    texts(.scope, fields, "a scope like mail.read").flatMap { text, location in
      let words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
      let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
      if !isPlain || words.isEmpty {
        report.error(
          location,
          "the scope \(quoted(text)) has a character that is not allowed: expected printable ASCII without \" and \\")
      }
      return words
    }
  }

  /// Reads a list of texts, or one text.
  private func texts(
    _ key: OAuth2Key, _ fields: Fields<OAuth2Key>, _ wanted: String
  ) -> [(text: String, location: TextLocation)] {
    guard let node = fields[key] else { return [] }
    var nodes = [node]
    switch node.content {
    case .sequence, .mapping: nodes = filledList(node, of: wanted) ?? []
    case .scalar, .refused: break
    }
    return nodes.compactMap { node in text(node, wanted).map { ($0, node.location) } }
  }
}
