package import Policy

/// Stores the breakers of rejected secrets that are not in use now (T41).
package final class RejectedValues {
  private struct Entry {
    let fingerprint: String
    let origin: Origin
    let breaker: CredentialBreaker
    let until: UInt64
  }

  private var entries: [Entry] = []

  private static let maximumEntries = 256
  /// Minimum time to keep an entry, in milliseconds.
  private static let minimumTime: UInt64 = 3_600_000

  package init() {}

  /// Stores the breaker of a value that goes out of use. `fingerprint` is `nil` if there was no value.
  package func remember(_ breaker: CredentialBreaker, of fingerprint: String?, at origin: Origin, now: UInt64) {
    guard let fingerprint, breaker.rejections > 0 else { return }
    entries.removeAll { $0.until <= now || ($0.fingerprint == fingerprint && $0.origin == origin) }
    // Remove the oldest entry.
    if entries.count >= Self.maximumEntries { entries.removeFirst() }
    let until = max(breaker.suspendedUntil, now &+ Self.minimumTime)
    entries.append(Entry(fingerprint: fingerprint, origin: origin, breaker: breaker, until: until))
  }

  /// Removes and returns the breaker of a value. `nil` if there is none.
  package func recall(_ fingerprint: String?, at origin: Origin, now: UInt64) -> CredentialBreaker? {
    guard
      let index = entries.firstIndex(where: {
        $0.fingerprint == fingerprint && $0.origin == origin && $0.until > now
      })
    else { return nil }
    return entries.remove(at: index).breaker
  }
}
