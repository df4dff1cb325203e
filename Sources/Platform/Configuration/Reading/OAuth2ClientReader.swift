internal import Policy
import Primitives
internal import Settings

/// Reads how the client authenticates at a token endpoint, and the parameters of its requests.
extension SettingsReader {
  /// The values of `client_auth` (RFC 6749 section 2.3, RFC 7523 section 2.2, RFC 8705 section 2).
  private enum ClientAuth: String, CaseIterable {
    case basic, post, none
    case privateKeyJWT = "private_key_jwt"
    case tlsClientAuth = "tls_client_auth"
    case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
  }

  /// Reads the client. After an error, the result is incomplete.
  func client(
    _ fields: Fields<OAuth2Key>, for grant: OAuth2Grant, at endpoint: Endpoint, _ key: JWTKey,
    _ certificate: CredentialSettings.ClientCertificate?
  ) -> TokenClient {
    let secret = secret(.clientSecret, fields, at: endpoint) ?? .file("")
    let chosen = fields[.clientAuth].flatMap { choice($0, ClientAuth.allCases.map { ($0.rawValue, $0) }) }
    let authentication = chosen ?? (fields.has(.clientSecret) ? .basic : .none)
    if chosen != nil || !fields.has(.clientAuth) {
      check(fields, authentication, grant, hasCertificate: certificate != nil)
    }
    let method: TokenClient.Authentication =
      switch authentication {
      case .none: .none
      case .basic: .basic(secret)
      case .post: .post(secret)
      case .privateKeyJWT: .privateKeyJWT(key.source, audience: key.audience)
      case .tlsClientAuth, .selfSignedTLSClientAuth: .certificate(certificate?.identifier ?? "")
      }
    return TokenClient(id: words(.clientID, fields) ?? "", authentication: method)
  }

  /// The private key that signs JWTs, and their `aud`.
  typealias JWTKey = (source: SigningKeySource, audience: String?)

  func signingKey(_ fields: Fields<OAuth2Key>, at endpoint: Endpoint) -> JWTKey {
    let source = secret(.privateKey, fields, at: endpoint) ?? .file("")
    let key = SigningKeySource(
      source, passphrase: secret(.passphrase, fields, at: endpoint), identifier: words(.keyID, fields))
    return (key, words(.assertionAudience, fields))
  }

  private func check(
    _ fields: Fields<OAuth2Key>, _ authentication: ClientAuth, _ grant: OAuth2Grant, hasCertificate: Bool
  ) {
    let location = fields.has(.clientAuth) ? fields.location(of: .clientAuth) : fields.location
    switch authentication {
    case .basic, .post:
      if !fields.has(.clientSecret) {
        missing(
          .clientSecret, in: fields, "client_auth \(authentication.rawValue) needs \"client_secret\"",
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
      if !hasCertificate {
        report.error(
          location, "client_auth \(authentication.rawValue) needs a client certificate (RFC 8705)",
          help:
            "add to the credential (not to \"oauth2\"): client_certificate: { certificate: NAME.pem, private_key: { file: NAME.key } }"
        )
      }
      if !fields.has(.clientID) {
        missing(
          .clientID, in: fields, "client_auth \(authentication.rawValue) needs \"client_id\"",
          help: "add client_id: NAME")
      }
    case .none:
      let isMeant = fields.isMisspelled(.clientSecret) || fields.isMisspelled(.privateKey)
      if grant == .clientCredentials, !isMeant {
        report.error(
          location, "grant client_credentials needs an authenticated client (RFC 6749 section 4.4)",
          help: "add client_secret: { file: NAME }, or private_key with client_auth: private_key_jwt")
      }
    }
    if fields.has(.clientSecret), authentication != .basic, authentication != .post {
      report.error(
        fields.location(of: .clientSecret), "client_auth \(authentication.rawValue) does not use a client secret",
        help: "delete it, or write client_auth: basic")
    }
    if fields.has(.privateKey), authentication != .privateKeyJWT, grant != .jwtBearer {
      report.error(
        fields.location(of: .privateKey), "this private key is not used",
        help: "delete it, or write client_auth: private_key_jwt")
    }
    for key in [OAuth2Key.passphrase, .keyID, .assertionAudience] where fields.has(key) && !fields.has(.privateKey) {
      report.error(
        fields.location(of: key), "\"\(key.rawValue)\" is allowed only with private_key", help: "delete the line")
    }
  }

  func readParameters(_ fields: Fields<OAuth2Key>, into token: inout TokenSource) {
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
    token.parameters = namedValues(.parameters, fields, "parameter", ProtocolParameters.names)
  }

  /// Reads additional parameters or claims, and reports names in `reserved`.
  /// - Parameter kind: `parameter` or `claim`, for messages.
  func namedValues(
    _ key: OAuth2Key, _ fields: Fields<OAuth2Key>, _ kind: String, _ reserved: Set<String>
  ) -> [TokenParameter] {
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
      return TokenParameter(entry.name, value)
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
