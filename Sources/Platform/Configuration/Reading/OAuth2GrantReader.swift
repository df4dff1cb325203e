internal import Settings

/// Reads the keys of one `grant` of `oauth2`.
struct OAuth2GrantReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<OAuth2Key>
  let parameters: OAuth2ParameterReader

  /// Reads the grant. After an error, the result is incomplete.
  func kind(_ grant: OAuth2Grant, _ key: OAuth2ParameterReader.SigningKey) -> TokenGrantKind {
    check(grant)
    func secret(_ key: OAuth2Key) -> SecretSource? { parameters.secret(key) }
    // `OAuth2Reader` has reported a missing secret.
    func needed(_ key: OAuth2Key) -> SecretSource { secret(key) ?? .file("") }
    switch grant {
    case .clientCredentials: return .clientCredentials
    case .refreshToken: return .refreshToken(first: secret(.refreshToken))
    case .jwtBearer:
      var assertion = TokenAssertion(key: key.source)
      assertion.issuer = text(.issuer, of: fields)
      assertion.subject = text(.subject, of: fields)
      assertion.audience = key.audience
      assertion.claims = parameters.claims()
      return .jwtBearer(assertion)
    case .tokenExchange:
      var exchange = TokenExchange(subject: needed(.subjectToken))
      if let type = text(.subjectTokenType, of: fields) { exchange.subjectType = type }
      exchange.actor = secret(.actorToken)
      exchange.actorType = text(.actorTokenType, of: fields)
      exchange.requestedType = text(.requestedTokenType, of: fields)
      return .tokenExchange(exchange)
    case .custom: return .custom(type: grantType())
    case .deviceCode, .authorizationCode: return .refreshToken(first: nil)
    case .password:
      let user = value(.user, of: fields, "a user name, or { file: NAME }", for: .user, to: parameters.origins)
      return .password(user: user ?? .plain(""), password: needed(.password))
    }
  }

  /// Reads `grant_type`: a name or a URI (RFC 6749 appendix A.10), or `nil` for `none`.
  private func grantType() -> String? {
    guard let node = fields[.grantType], let type = text(.grantType, of: fields), type != "none" else { return nil }
    guard type.utf8.count <= 256, type.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      return report.error(
        node.location,
        "this grant type is not valid: expected a name or a URI of at most 256 characters of visible ASCII, or none",
        help: "copy grant_type from the server's documentation")
    }
    return type
  }

  private func check(_ grant: OAuth2Grant) {
    checkTogether(.actorToken, .actorTokenType, in: fields, " (RFC 8693 section 2.1)")
    if grant == .password, fields.has(.grant) {
      report.warning(
        fields.valueLocation(of: .grant),
        "the password grant reveals a person's password to bearerd and to the server: RFC 9700 advises against this grant",
        help: "use client_credentials or refresh_token if the server supports one of them")
    }
  }
}
