internal import Settings

/// Reads how the client authenticates at a token endpoint.
struct OAuth2ClientReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<OAuth2Key>
  let grant: OAuth2Grant

  /// The values of `client_auth` (RFC 6749 section 2.3, RFC 7523 section 2.2, RFC 8705 section 2).
  private enum ClientAuth: String, CaseIterable {
    case basic, post, none
    case basicRaw = "basic_raw"
    case privateKeyBearer = "private_key_bearer"
    case privateKeyJWT = "private_key_jwt"
    case tlsClientAuth = "tls_client_auth"
    case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
  }

  /// Reads the client. After an error, the result is incomplete.
  func client(
    _ parameters: OAuth2ParameterReader, _ key: OAuth2ParameterReader.SigningKey,
    _ certificate: CredentialSettings.ClientCertificate?
  ) -> TokenClient {
    let secret = parameters.secret(.clientSecret) ?? .file("")
    let chosen: ClientAuth? = choice(.clientAuth, of: fields)
    let authentication = chosen ?? (fields.has(.clientSecret) ? .basic : .none)
    if chosen != nil || !fields.has(.clientAuth) {
      check(authentication, hasCertificate: certificate != nil)
    }
    let method: TokenClient.Authentication =
      switch authentication {
      case .none: .none
      case .basic: .basic(secret)
      case .basicRaw: .basicRaw(secret)
      case .post: .post(secret)
      case .privateKeyJWT: .privateKeyJWT(key.source, audience: key.audience)
      case .privateKeyBearer: .privateKeyBearer(key.source, audience: key.audience)
      case .tlsClientAuth, .selfSignedTLSClientAuth: .certificate(certificate?.identifier ?? "")
      }
    return TokenClient(id: text(.clientID, of: fields) ?? "", authentication: method)
  }

  private func check(_ authentication: ClientAuth, hasCertificate: Bool) {
    let name = authentication.rawValue
    let location = fields.has(.clientAuth) ? fields.location(of: .clientAuth) : fields.location
    switch authentication {
    case .basic, .basicRaw, .post:
      if authentication == .basicRaw, let node = fields[.clientID], node.text?.contains(":") == true {
        report.error(
          node.location, "the client ID has a colon, which client_auth basic_raw cannot send",
          help: "write client_auth: basic, which encodes the colon")
      }
      required(
        .clientSecret, of: fields, "client_auth \(name) needs \"client_secret\"",
        help: "add client_secret: { file: NAME }")
    case .privateKeyJWT, .privateKeyBearer:
      required(
        .privateKey, of: fields, "client_auth \(name) needs \"private_key\"", help: "add private_key: { file: NAME }")
      required(.clientID, of: fields, "client_auth \(name) needs \"client_id\"", help: "add client_id: NAME")
    case .tlsClientAuth, .selfSignedTLSClientAuth:
      if !hasCertificate {
        report.error(
          location, "client_auth \(name) needs a client certificate (RFC 8705)",
          help:
            "add to the credential (not to \"oauth2\"): client_certificate: { certificate: NAME.pem, private_key: { file: NAME.key } }"
        )
      }
      required(.clientID, of: fields, "client_auth \(name) needs \"client_id\"", help: "add client_id: NAME")
    case .none:
      let isMeant = fields.isMisspelled(.clientSecret) || fields.isMisspelled(.privateKey)
      if grant == .clientCredentials, !isMeant {
        report.error(
          location, "grant client_credentials needs an authenticated client (RFC 6749 section 4.4)",
          help: "add client_secret: { file: NAME }, or private_key with client_auth: private_key_jwt")
      }
    }
    if fields.has(.clientSecret), ![.basic, .basicRaw, .post].contains(authentication) {
      report.error(
        fields.location(of: .clientSecret), "client_auth \(name) does not use a client secret",
        help: "delete it, or write client_auth: basic")
    }
    if fields.has(.privateKey), authentication != .privateKeyJWT, authentication != .privateKeyBearer,
      grant != .jwtBearer
    {
      report.error(
        fields.location(of: .privateKey), "this private key is not used",
        help: "delete it, or write client_auth: private_key_jwt")
    }
    for key in [OAuth2Key.passphrase, .keyID, .assertionAudience] where fields.has(key) && !fields.has(.privateKey) {
      report.error(
        fields.location(of: key), "\"\(key.rawValue)\" is allowed only with private_key", help: "delete the line")
    }
  }
}
