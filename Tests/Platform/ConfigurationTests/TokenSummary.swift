@testable import Configuration
import Policy

/// The settings of `oauth2` that differ from their defaults, as text.
enum TokenSummary {
  static func text(
    _ token: CredentialSettings.OAuth2, _ source: (CredentialSettings.Source) -> String
  ) -> String {
    let plain: [(String, String?)] = [
      ("client", token.clientID), ("auth", token.clientAuth.rawValue), ("key", token.keyID), ("issuer", token.issuer),
      ("subject", token.subject), ("scope", list(token.scope)), ("resource", list(token.resource)),
      ("audience", list(token.audience)), ("parameters", list(token.parameters.map { "\($0.name)=\($0.value)" })),
      ("subject type", token.subjectTokenType), ("requested type", token.requestedTokenType),
      ("actor type", token.actorTokenType), ("store", token.store), ("aud", token.assertionAudience),
      ("revocation", token.revocation?.description),
      ("claims", list(token.claims.map { "\($0.name)=\($0.value)" })),
      ("trusts", token.trust.caFile), ("pins", list(token.trust.pinning.pins.map(\.description))),
      ("blocks", token.allowedAddresses.isEmpty ? nil : "\(token.allowedAddresses.count)"),
      ("ahead", token.renewAhead == 60_000 ? nil : "\(token.renewAhead)"),
      ("skew", token.skew == 10_000 ? nil : "\(token.skew)"),
      ("timeout", token.timeout == 10_000 ? nil : "\(token.timeout)"),
      ("device", token.deviceAuthorization?.description), ("browser", token.authorization?.description),
      ("redirect", token.authorization.map { _ in token.redirect.uri(port: token.redirect.port) }),
      ("login", token.loginTimeout == 300_000 ? nil : "\(token.loginTimeout)"),
      ("refresh on", list(token.refreshOn.map(LoginSummary.text))),
    ]
    let secrets: [(String, CredentialSettings.Source?)] = [
      ("secret", token.clientSecret), ("private", token.privateKey), ("refresh", token.refreshToken),
      ("subject token", token.subjectToken), ("actor", token.actorToken), ("password", token.password),
    ]
    let user: String? =
      switch token.user {
      case .plain(let name): name
      case .secret(let secret): source(secret)
      case nil: nil
      }
    let all = plain + [("user", user)] + secrets.map { ($0.0, $0.1.map(source)) }
    return all.compactMap { name, value in value.map { " \(name) \($0)" } }.joined()
  }

  private static func list(_ words: [String]) -> String? { words.isEmpty ? nil : "\(words)" }
}
