internal import System

/// The secrets of one request for a token, each by what it is for. Wiped when it ends; make one for each request.
package final class TokenSecrets {
  package enum Role: Sendable, Hashable {
    case clientSecret
    /// PEM.
    case clientKey
    /// PEM, of `TokenGrantKind.jwtBearer`.
    case assertionKey
    case refreshToken, subjectToken, actorToken, userName, password
    /// The codes of a person's login: the device's, or the browser's and what proves that it was asked for here.
    case deviceCode, code, codeVerifier
    /// To be revoked.
    case revokedToken
    /// A field of a `LoginForm`, by its index.
    case field(Int)
  }

  private final class Held {
    let secret: Secret
    init(_ secret: consuming Secret) { self.secret = secret }
  }

  private var all: [Role: Held] = [:]

  package init() {}

  package func put(_ role: Role, _ secret: consuming Secret) { all[role] = Held(secret) }

  package func has(_ role: Role) -> Bool { all[role] != nil }

  /// Borrowed for the call; nil: there is none.
  @_spi(SecretBytes) public func withBytes<Result: ~Copyable, Failure: Error>(
    of role: Role, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let held = all[role] else { return nil }
    return try held.secret.withBytes(body)
  }
}

extension TokenSource {
  /// Every source of a secret that it names, by what it is for. Not the stored login.
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
