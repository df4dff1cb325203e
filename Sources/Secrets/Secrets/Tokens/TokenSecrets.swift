internal import System

/// The secrets of one token request, by role. They are wiped with the object.
package final class TokenSecrets {
  package enum Role: Sendable, Hashable {
    case clientSecret
    case clientKey
    case assertionKey
    case refreshToken, subjectToken, actorToken, userName, password
    /// Codes of an interactive login: from a device, or from the browser with its PKCE verifier (RFC 7636).
    case deviceCode, code, codeVerifier
    case revokedToken
    /// A field of a `LoginForm`, by index.
    case field(Int)
  }

  private final class Box {
    let secret: Secret
    init(_ secret: consuming Secret) { self.secret = secret }
  }

  private var boxes: [Role: Box] = [:]

  package init() {}

  package func put(_ role: Role, _ secret: consuming Secret) { boxes[role] = Box(secret) }

  package func has(_ role: Role) -> Bool { boxes[role] != nil }

  /// Lends the bytes for the duration of the call. Returns `nil` if there is no secret for the role.
  @_spi(SecretBytes) public func withBytes<Result: ~Copyable, Failure: Error>(
    of role: Role, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let box = boxes[role] else { return nil }
    return try box.secret.withBytes(body)
  }
}

extension TokenSource {
  /// The sources of all secrets for a token request, by role.
  package var sources: [(role: TokenSecrets.Role, source: SecretSource)] {
    var sources: [(role: TokenSecrets.Role, source: SecretSource)] = []
    switch client.authentication {
    case .none, .certificate: break
    case .basic(let secret), .post(let secret): sources.append((.clientSecret, secret))
    case .privateKeyJWT(let key, _): sources.append((.clientKey, key.source))
    }
    switch grant {
    case .clientCredentials: break
    case .refreshToken(let first): if let first { sources.append((.refreshToken, first)) }
    case .jwtBearer(let assertion): sources.append((.assertionKey, assertion.key.source))
    case .tokenExchange(let exchange):
      sources.append((.subjectToken, exchange.subject))
      if let actor = exchange.actor { sources.append((.actorToken, actor)) }
    case .password(let user, let password):
      if case .secret(let user) = user { sources.append((.userName, user)) }
      sources.append((.password, password))
    case .form(let form): sources += form.sources.map { (.field($0.field), $0.source) }
    }
    return sources
  }
}
