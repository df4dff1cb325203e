package import Policy

/// Secrets that an origin has rejected, while none of the breakers has them before it: the file is gone for a
/// moment, the service has been left out or the credential renamed. A value that comes back is the same wrong password (T41).
package final class RejectedValues {
  private struct Entry {
    let fingerprint: String
    let origin: Origin
    let breaker: CredentialBreaker
    let until: UInt64
  }

  private var entries: [Entry] = []

  private static let mostEntries = 256
  /// Milliseconds, or until the time is over for which it is held back, if that is later.
  private static let time: UInt64 = 3_600_000

  package init() {}

  /// - Parameters:
  ///   - fingerprint: of the value; nil: there was none.
  ///   - now: of the breakers' clock.
  package func remember(_ breaker: CredentialBreaker, of fingerprint: String?, at origin: Origin, now: UInt64) {
    guard let fingerprint, breaker.rejections > 0 else { return }
    entries.removeAll { $0.until <= now || ($0.fingerprint == fingerprint && $0.origin == origin) }
    // The oldest goes.
    if entries.count >= Self.mostEntries { entries.removeFirst() }
    let until = max(breaker.heldUntil, now &+ Self.time)
    entries.append(Entry(fingerprint: fingerprint, origin: origin, breaker: breaker, until: until))
  }

  /// Returns the breaker of a value, and forgets it: the caller goes on with it.
  package func recall(_ fingerprint: String?, at origin: Origin, now: UInt64) -> CredentialBreaker? {
    guard
      let index = entries.firstIndex(where: {
        $0.fingerprint == fingerprint && $0.origin == origin && $0.until > now
      })
    else { return nil }
    return entries.remove(at: index).breaker
  }
}
