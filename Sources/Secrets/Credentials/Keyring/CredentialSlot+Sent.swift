@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System

/// The patterns to look for in the answer to one request (T33): what has gone out with it is not always the credential's own
/// value.
extension CredentialSlot {
  /// - Parameters:
  ///   - attempt: of a credential that answers challenges. What Digest and OAuth 1.0 compute for one request is not looked for:
  ///     it is of no use for another one.
  ///   - cookies: that have gone out beside it.
  func patterns(
    sentBy attempt: ChallengeAttempt?, with cookies: CookieLine?, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns? {
    guard var patterns = rendered.patterns else { return nil }
    if let registry = traits.registry, let serial = attempt?.serial {
      patterns = try registry.tokens.patterns(ofToken: serial, beside: patterns, in: arena)
    }
    guard let cookies else { return patterns }
    return try cookiePatterns.patterns(of: cookies, beside: patterns, in: arena)
  }
}

/// Patterns of the cookies that went out last: those of the next request are mostly the same.
final class CookiePatterns {
  private var last: (cookies: CookieLine, own: SecretPatterns, all: SecretPatterns)?

  func patterns(
    of cookies: CookieLine, beside own: SecretPatterns, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns {
    if let last, last.own === own, last.cookies.secret.isEqual(to: cookies.secret) { return last.all }
    var keys = try SecretList(in: arena)
    try cookies.addKeys(to: &keys)
    let all = keys.ranges.isEmpty ? own : try SecretPatterns(own, and: keys, in: arena)
    last = (cookies, own, all)
    return all
  }

  func forget() { last = nil }
}
