package import Credentials
package import Policy
@_spi(SecretBytes) package import Secrets
package import Settings
internal import Primitives
internal import System
package import TLS

/// A complete HTTP/1.1 request to an authorization server, in locked memory. It can be sent only to its endpoint.
package struct TokenRequest: ~Copyable {
  package enum Purpose: Sendable, Equatable {
    /// Requests an access token with the configured grant.
    case token
    /// Begins a login on another device, at `deviceAuthorization` (RFC 8628 section 3.1).
    case deviceAuthorization
    /// Polls whether the person has logged in (RFC 8628 section 3.4). Needs `.deviceCode`.
    case deviceToken
    /// Exchanges the code of a browser login (RFC 6749 section 4.1.3, RFC 7636 section 4.5). Needs `.code` and
    /// `.codeVerifier`.
    case code(redirectURI: String)
    /// Begins a login with OAuth 1.0 (RFC 5849 section 2.1). `callback` is where the browser returns.
    case requestToken(callback: String)
    /// Exchanges the verifier of a login with OAuth 1.0 (RFC 5849 section 2.3). Needs `.requestToken`,
    /// `.requestTokenSecret` and `.verifier`.
    case oauth1Token
    /// Revokes a token, at `revocation` (RFC 7009). Needs `.revokedToken`.
    case revocation(RevokedToken)
  }

  package enum RevokedToken: String, Sendable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
  }

  /// The time and random bytes for signed tokens in a request.
  package struct Moment: Sendable {
    /// Seconds since 1970, for `iat` and `exp` of signed tokens.
    package let now: Int64
    /// At least 16 random bytes for the identifier of signed tokens (`jti`).
    package let nonce: [UInt8]

    package init(now: Int64, nonce: [UInt8]) {
      self.now = now
      self.nonce = nonce
    }
  }

  package let endpoint: Endpoint
  let trust: TrustPolicy
  let bytes: Secret

  /// Renders a request with this purpose. Throws if a secret or endpoint is missing, if a key cannot sign, or if memory
  /// runs out.
  package static func render(
    _ source: TokenSource, _ purpose: Purpose, _ secrets: TokenSecrets, at moment: Moment, in arena: SecretArena
  ) throws(SecretProblem) -> TokenRequest {
    guard let endpoint = source.endpoint(for: purpose) else {
      throw SecretProblem("the configuration of \(source.credential) has no endpoint for this")
    }
    if let login = source.oauth1 {
      return try OAuth1Request(source: source, login: login, secrets: secrets, now: moment.now, arena: arena)
        .render(purpose)
    }
    let body: Secret
    if let form = source.form {
      guard purpose == .token else { throw SecretProblem("\(source.credential) has a login, and no other endpoint") }
      body = try LoginBody(form: form, source: source, secrets: secrets, arena: arena).render()
    } else {
      body = try TokenForm(source: source, secrets: secrets, moment: moment, arena: arena).render(purpose)
    }
    do {
      var bytes = try Secret(capacity: body.count + 1024, in: arena)
      try bytes.append("POST \(String(decoding: endpoint.target, as: UTF8.self)) HTTP/1.1\r\n")
      try bytes.append("Host: \(endpoint.origin.authority)\r\n")
      switch source.client.authentication {
      case .basic: try append(credentialsOf: source, isEncoded: true, secrets, to: &bytes, in: arena)
      case .basicRaw: try append(credentialsOf: source, isEncoded: false, secrets, to: &bytes, in: arena)
      case .privateKeyBearer(let key, let audience):
        let token = try TokenForm(source: source, secrets: secrets, moment: moment, arena: arena).signedClient(
          key, audience: audience)
        try bytes.append("Authorization: Bearer ")
        try token.withBytes { (token) throws(SystemError) in try bytes.append(token) }
        try bytes.append("\r\n")
      case .none, .post, .privateKeyJWT, .certificate: break
      }
      let replaced = source.headers.map { ASCII.lowercased($0.name) }
      // With a login by cookie, the response may have any type.
      let accept = source.form.map { $0.extractsCookie ? "application/json, */*;q=0.5" : "application/json" }
      if !replaced.contains("accept") { try bytes.append("Accept: \(accept ?? "application/json")\r\n") }
      try bytes.append("Accept-Encoding: identity\r\n")
      if !replaced.contains("user-agent") { try bytes.append("User-Agent: bearerd\r\n") }
      try append(headersOf: source, secrets, to: &bytes)
      let isJSON = source.encoding(for: purpose) == .json
      let type = isJSON ? "application/json" : "application/x-www-form-urlencoded"
      if body.count > 0 { try bytes.append("Content-Type: \(type)\r\n") }
      try bytes.append("Content-Length: \(body.count)\r\n")
      try bytes.append("Connection: close\r\n\r\n")
      try body.withBytes { (body) throws(SystemError) in try bytes.append(body) }
      return TokenRequest(endpoint: endpoint, trust: source.trust, bytes: bytes)
    } catch {
      throw .noMemory(unless: error)
    }
  }

  /// Writes the whole request to a session. Sends nothing unless the session is for this endpoint, and its certificate
  /// and pins are valid. After the error `sessionFailed`, the connection is unusable.
  /// - Parameter now: seconds since 1970.
  package borrowing func send(over session: inout VerifiedSession, now: Int64) throws(AuthorizationError) {
    let (proof, origin) = (session.proof, session.proof.identity.origin)
    guard origin == endpoint.origin else {
      throw AuthorizationError(
        reason: .originNotGranted, detail: "a request for \(endpoint.origin) must not be sent to \(origin)")
    }
    guard proof.identity.trust == trust, proof.identity.grant == nil else {
      throw AuthorizationError(
        reason: .wrongSession, detail: "the session to \(origin) was not opened to ask for tokens")
    }
    guard proof.applicationProtocol == .http1 else {
      throw AuthorizationError(
        reason: .wrongSession,
        detail: "the session to \(origin) uses \(proof.applicationProtocol.name), and the request is HTTP/1.1")
    }
    try proof.check(at: now)
    do throws(TLSError) {
      try bytes.withBytes { (bytes) throws(TLSError) in try session.write(bytes) }
    } catch {
      throw AuthorizationError(error)
    }
  }

  /// Appends the additional header fields of the configuration.
  private static func append(headersOf source: TokenSource, _ secrets: TokenSecrets, to bytes: inout Secret) throws {
    for (index, field) in source.headers.enumerated() {
      try bytes.append("\(field.name): ")
      try secrets.withValue(of: field, .header(index), in: source) { (value) throws in
        // A line break would begin another field.
        guard !value.isEmpty, value.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
          throw SecretProblem(
            "\(field.name) of \(source.credential) is empty, or has a character that is not printable ASCII, which a header field does not allow"
          )
        }
        try bytes.append(value)
      }
      try bytes.append("\r\n")
    }
  }

  /// Appends an `Authorization` field with Basic credentials (RFC 6749 section 2.3.1).
  /// - Parameter isEncoded: `true` to form-encode ID and secret first, so that the ID can contain a colon.
  private static func append(
    credentialsOf source: TokenSource, isEncoded: Bool, _ secrets: TokenSecrets, to bytes: inout Secret,
    in arena: SecretArena
  ) throws {
    var pair = try Secret(capacity: 256, in: arena)
    if isEncoded { try pair.appendForm(source.client.id, space: "%20") } else { try pair.append(source.client.id) }
    try pair.append(UInt8(ascii: ":"))
    let added: Void? = try secrets.withBytes(of: .clientSecret) { (bytes) throws(SystemError) in
      if isEncoded { try pair.appendForm(bytes, space: "%20") } else { try pair.append(bytes) }
    }
    guard added != nil else { throw SecretProblem.missing(.clientSecret, of: source) }
    try bytes.append("Authorization: Basic ")
    try pair.withBytes { (pair) throws(SystemError) in try bytes.append(base64: pair) }
    try bytes.append("\r\n")
  }
}

extension TokenSecrets {
  /// Lends the value of a field, plain or secret, for the duration of the call.
  func withValue<Failure: Error>(
    of field: LoginForm.Field, _ role: Role, in source: TokenSource,
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws {
    switch field.value {
    case .plain(let text): try text.utf8.span.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes) }
    case .secret:
      let lent: Void? = try withBytes(of: role) { (bytes) throws(Failure) in try body(bytes) }
      guard lent != nil else { throw SecretProblem.missing(role, of: source) }
    }
  }
}

extension TokenSource {
  /// Returns the encoding of requests with this purpose. A revocation is always a form (RFC 7009 section 2.1).
  func encoding(for purpose: TokenRequest.Purpose) -> LoginForm.Encoding {
    if case .revocation = purpose { .form } else { form?.encoding ?? encoding }
  }

  /// Returns the endpoint for requests with this purpose. `nil` if the configuration has none.
  func endpoint(for purpose: TokenRequest.Purpose) -> Endpoint? {
    switch purpose {
    case .token, .deviceToken, .code, .oauth1Token: endpoint
    case .requestToken: oauth1?.requestToken
    case .deviceAuthorization: deviceAuthorization
    case .revocation: revocation
    }
  }
}

extension SecretProblem {
  static var noMemory: SecretProblem { SecretProblem("cannot allocate memory for secrets", isTransient: true) }

  /// Returns `error` if it is a `SecretProblem`, otherwise `noMemory`.
  static func noMemory(unless error: any Error) -> SecretProblem { error as? SecretProblem ?? noMemory }

  static func missing(_ role: TokenSecrets.Role, of source: TokenSource) -> SecretProblem {
    let name =
      switch role {
      case .clientSecret: "client secret"
      case .clientKey, .assertionKey: "private key"
      case .passphrase: "passphrase of the private key"
      case .refreshToken: "refresh token: a person has to log in"
      case .subjectToken: "token to exchange"
      case .actorToken: "actor's token"
      case .userName: "user name"
      case .password: "password"
      case .deviceCode: "device code"
      case .code: "code of a login"
      case .codeVerifier: "code verifier"
      case .revokedToken: "token to revoke"
      case .consumerKey: "consumer key"
      case .requestToken: "request token"
      case .requestTokenSecret: "secret of the request token"
      case .verifier: "verifier of a login"
      case .parameter(let index):
        source.parameters.indices.contains(index) ? source.parameters[index].name : "parameter"
      case .header(let index): source.headers.indices.contains(index) ? source.headers[index].name : "header field"
      case .field(let index):
        source.form.map { $0.fields.indices.contains(index) ? "\($0.fields[index].name)" : "field" } ?? "field"
      }
    return SecretProblem("\(source.credential) has no \(name)", isMissing: true)
  }
}
