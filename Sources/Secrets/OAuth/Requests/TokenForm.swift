internal import Policy
import Primitives
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// Writes the body of a request to an authorization server, as a form or as JSON.
struct TokenForm {
  let source: TokenSource
  let secrets: TokenSecrets
  let moment: TokenRequest.Moment
  let arena: SecretArena

  private static let urnPrefix = "urn:ietf:params:oauth:"

  func render(_ purpose: TokenRequest.Purpose) throws(SecretProblem) -> Secret {
    do {
      var form = try ParameterWriter(source.encoding(for: purpose), in: arena)
      switch purpose {
      case .token:
        try addGrant(to: &form)
        try addTargets(to: &form)
      case .deviceAuthorization: try addTargets(to: &form)
      case .deviceToken:
        try form.add("grant_type", Self.urnPrefix + "grant-type:device_code")
        try add("device_code", .deviceCode, to: &form)
        try addParameters(to: &form)
      case .code(let redirectURI):
        try form.add("grant_type", "authorization_code")
        try add("code", .code, to: &form)
        try form.add("redirect_uri", redirectURI)
        try add("code_verifier", .codeVerifier, to: &form)
        try form.add("resource", each: source.resource)
        try addParameters(to: &form)
      case .revocation(let kind):
        try add("token", .revokedToken, to: &form)
        try form.add("token_type_hint", kind.rawValue)
      case .requestToken, .oauth1Token: throw SecretProblem("\(source.credential) has no login with OAuth 1.0")
      }
      try addClient(to: &form)
      try form.check(for: source)
      return try form.finish()
    } catch {
      throw .noMemory(unless: error)
    }
  }

  private func addGrant(to form: inout ParameterWriter) throws {
    switch source.grant {
    case .clientCredentials: try form.add("grant_type", "client_credentials")
    case .refreshToken:
      try form.add("grant_type", "refresh_token")
      try add("refresh_token", .refreshToken, to: &form)
    case .jwtBearer(let assertion):
      try form.add("grant_type", Self.urnPrefix + "grant-type:jwt-bearer")
      let issuer = assertion.issuer ?? source.client.id
      let token = SignedToken(
        issuer: issuer, subject: assertion.subject ?? issuer,
        audience: assertion.audience ?? source.endpoint.description, claims: assertion.claims,
        keyIdentifier: assertion.key.identifier, identifier: try identifier("a"), issued: moment.now)
      try form.add("assertion", try sign(token, .assertionKey, assertion.key))
    case .tokenExchange(let exchange):
      try form.add("grant_type", Self.urnPrefix + "grant-type:token-exchange")
      try add("subject_token", .subjectToken, to: &form)
      try form.add("subject_token_type", exchange.subjectType)
      if exchange.actor != nil {
        try add("actor_token", .actorToken, to: &form)
        try form.add("actor_token_type", exchange.actorType ?? TokenExchange.accessToken)
      }
      if let type = exchange.requestedType { try form.add("requested_token_type", type) }
    case .password(let user, _):
      try form.add("grant_type", "password")
      switch user {
      case .plain(let name): try form.add("username", name)
      case .secret: try add("username", .userName, to: &form)
      }
      try add("password", .password, to: &form)
    case .custom(let type): if let type { try form.add("grant_type", type) }
    case .form, .oauth1: throw SecretProblem("\(source.credential) has a login and no grant")
    }
  }

  private func addTargets(to form: inout ParameterWriter) throws {
    if !source.scope.isEmpty { try form.add("scope", source.scope.joined(separator: " ")) }
    try form.add("resource", each: source.resource)
    try form.add("audience", each: source.audience)
    try addParameters(to: &form)
  }

  /// Adds the additional parameters of the configuration.
  private func addParameters(to form: inout ParameterWriter) throws {
    for (index, parameter) in source.parameters.enumerated() {
      if let problem = ProtocolParameters.problem(ofParameter: parameter.name, with: source.grant) {
        throw SecretProblem("a parameter of \(source.credential) \(problem)")
      }
      try secrets.withValue(of: parameter, .parameter(index), in: source) { (bytes) throws(SystemError) in
        try form.add(parameter.name, bytes)
      }
    }
  }

  /// Adds client authentication to the form (RFC 6749 section 2.3.1, RFC 7523 section 2.2).
  private func addClient(to form: inout ParameterWriter) throws {
    let client = source.client
    switch client.authentication {
    case .basic, .basicRaw, .privateKeyBearer: break
    // RFC 8705 section 2 requires `client_id`.
    case .certificate: try form.add("client_id", client.id)
    case .none: if !client.id.isEmpty { try form.add("client_id", client.id) }
    case .post:
      try form.add("client_id", client.id)
      try add("client_secret", .clientSecret, to: &form)
    case .privateKeyJWT(let key, let audience):
      let token = SignedToken(
        issuer: client.id, subject: client.id, audience: audience ?? source.endpoint.description,
        keyIdentifier: key.identifier, identifier: try identifier("c"), issued: moment.now)
      try form.add("client_id", client.id)
      try form.add("client_assertion_type", Self.urnPrefix + "client-assertion-type:jwt-bearer")
      try form.add("client_assertion", try sign(token, .clientKey, key))
    }
  }

  /// Returns the JWT with which the client authenticates in the `Authorization` field.
  func signedClient(_ key: SigningKeySource, audience: String?) throws(SecretProblem) -> Secret {
    // The server's clock may be slow, and GitHub refuses times in the future.
    let (issued, overflows) = moment.now.subtractingReportingOverflow(60)
    let token = SignedToken(
      issuer: source.client.id, audience: audience, keyIdentifier: key.identifier,
      issued: overflows ? moment.now : issued)
    return try sign(token, .clientKey, key)
  }

  private func add(_ name: String, _ role: TokenSecrets.Role, to form: inout ParameterWriter) throws {
    let added: Void? = try secrets.withBytes(of: role) { (bytes) throws(SystemError) in try form.add(name, bytes) }
    guard added != nil else { throw SecretProblem.missing(role, of: source) }
  }

  private func sign(
    _ token: SignedToken, _ role: TokenSecrets.Role, _ key: SigningKeySource
  ) throws(SecretProblem) -> Secret {
    let name = key.source.name
    let signed = try secrets.withBytes(of: role) { (pem) throws(SecretProblem) in
      guard key.passphrase != nil else { return try token.sign(pem: pem, name: name, in: arena) }
      let signed = try secrets.withBytes(of: .passphrase) { (passphrase) throws(SecretProblem) in
        try token.sign(pem: pem, passphrase: passphrase, name: name, in: arena)
      }
      guard let signed else { throw SecretProblem.missing(.passphrase, of: source) }
      return signed
    }
    guard let signed else { throw SecretProblem.missing(role, of: source) }
    return signed
  }

  /// Returns a unique ID for a signed token (`jti`).
  /// - Parameter suffix: distinguishes the signed tokens of one request.
  private func identifier(_ suffix: String) throws(SecretProblem) -> String {
    guard moment.nonce.count >= 16 else { throw SecretProblem("there are no random bytes to sign with") }
    return ASCII.hexadecimal(moment.nonce) + suffix
  }
}
