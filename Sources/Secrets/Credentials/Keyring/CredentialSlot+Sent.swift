@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System

extension CredentialSlot {
  /// Returns the patterns of all secrets that a request carries (T33); `nil` if the credential has no value.
  func patterns(
    sentBy attempt: ChallengeAttempt?, with cookies: CookieLine?, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns? {
    // Values that Digest and OAuth 1.0 compute for one request are not included: they are useless for other requests.
    guard var patterns = rendered.patterns else { return nil }
    if let registry = traits.registry, let serial = attempt?.serial {
      patterns = try registry.tokens.patterns(ofToken: serial, beside: patterns, in: arena)
    }
    guard let cookies else { return patterns }
    return try cookiePatterns.patterns(of: cookies, beside: patterns, in: arena)
  }
}

/// Caches the patterns of the last request's cookies, which the next request usually has too.
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
