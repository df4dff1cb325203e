package import Policy
internal import Secrets
internal import Settings
internal import System

/// The login that cookies belong to.
enum CookieOwner: Sendable, Equatable {
  /// A login that lasts until the credential's value changes, with the value's fingerprint.
  case value(String)
  /// An OAuth login and its number, which stays the same while tokens are renewed.
  case token(TokenSource, UInt64)
}

/// Allows one request to use a jar, and its response to store cookies there. Invalid once the jar is emptied.
package final class JarTicket: Sendable {
  let key: CookieJars.Key
  let epoch: UInt64

  init(key: CookieJars.Key, epoch: UInt64) {
    self.key = key
    self.epoch = epoch
  }
}

/// The cookies of all credentials with `cookies: jar` (T34). Later requests carry them only with the same credential
/// and to the same origin. All workers share the jars.
///
/// `@unchecked`: the jars and their arena are used only under the lock.
package final class CookieJars: @unchecked Sendable {
  package struct Key: Hashable, Sendable {
    package let credential: String
    let origin: Origin

    package init(credential: String, origin: Origin) {
      self.credential = credential
      self.origin = origin
    }
  }

  private let lock: SharedLock
  private let arena = SecretArena()
  private var jars: [Key: CookieJar] = [:]
  /// The last jar number; numbers are never reused.
  private var lastNumber: UInt64 = 0

  /// Lifetime of a cookie without an expiry, in milliseconds: one day.
  static let sessionCookieLifetime: UInt64 = 24 * 3_600_000
  /// Maximum lifetime of a cookie in seconds (RFC 6265bis section 5.5).
  static let maximumLifetime: UInt64 = 400 * 86_400

  package init(isShared: Bool) { lock = SharedLock(isShared: isShared) }

  // MARK: jars

  /// Creates missing jars for `keys`, and wipes all other jars.
  /// - Parameter mustLock: whether storing a cookie fails if its memory cannot be locked.
  package func update(to keys: Set<Key>, mustLock: Bool) {
    lock {
      arena.mustLock = mustLock
      for key in Array(jars.keys) where !keys.contains(key) { jars[key] = nil }
      for key in keys where jars[key] == nil { jars[key] = CookieJar(epoch: nextNumber()) }
    }
  }

  /// Empties all jars of a credential, and returns the number of removed cookies. Later responses to earlier requests
  /// store nothing.
  @discardableResult
  package func forget(_ credential: String) -> Int {
    lock {
      var count = 0
      for key in Array(jars.keys) where key.credential == credential {
        jars[key]?.removeExpired(at: BootTimer.now)
        count += jars[key]?.cookies.count ?? 0
        empty(key)
      }
      return count
    }
  }

  /// Empties each jar of the credential, unless the jar's cookies belong to the login `holder`.
  func keep(_ credential: String, of holder: CookieOwner) {
    lock {
      for key in Array(jars.keys) where key.credential == credential && jars[key]?.owner != holder {
        empty(key)
      }
    }
  }

  /// Returns the number of unexpired cookies of a credential; `nil` if the credential has no jar.
  package func count(of credential: String) -> Int? {
    lock {
      let now = BootTimer.now
      let counts = jars.compactMap { key, jar in
        key.credential == credential ? jar.cookies.count { !$0.isExpired(at: now) } : nil
      }
      return counts.isEmpty ? nil : counts.reduce(0, +)
    }
  }

  // MARK: requests and responses

  /// Returns a ticket with which one request can use the jar; `nil` if there is no jar.
  func ticket(to key: Key, of holder: CookieOwner) -> JarTicket? {
    // First empties the jar if its cookies belong to another login than `holder`.
    lock {
      guard let jar = jars[key] else { return nil }
      if jar.owner != holder {
        empty(key)
        jars[key]?.owner = holder
      }
      return jars[key].map { JarTicket(key: key, epoch: $0.epoch) }
    }
  }

  /// Returns the `Cookie` field for a request to `path`, without its query; `nil` if there are no cookies.
  /// - Parameter own: the arena in which the result is allocated.
  func line(
    with ticket: JarTicket, for path: UnsafeRawBufferPointer, in own: SecretArena
  ) throws(SystemError) -> CookieLine? {
    lock.lock()
    defer { lock.unlock() }
    guard jars[ticket.key]?.epoch == ticket.epoch else { return nil }
    jars[ticket.key]?.removeExpired(at: BootTimer.now)
    return try jars[ticket.key]?.line(for: path, in: own)
  }

  /// Stores a cookie from a response, unless the jar was emptied after `ticket` was issued.
  /// - Parameter lifetime: in seconds; `nil` if the response does not say; 0 to delete the cookie.
  package func store(
    name: Span<UInt8>, value: Span<UInt8>, path: [UInt8], lifetime: UInt64?, with ticket: JarTicket
  ) {
    lock.lock()
    defer { lock.unlock() }
    guard jars[ticket.key]?.epoch == ticket.epoch else { return }
    let now = BootTimer.now
    let time = lifetime.map { min($0, Self.maximumLifetime) &* 1_000 } ?? Self.sessionCookieLifetime
    try? jars[ticket.key]?.store(
      name: name, value: value, path: path, end: time == 0 ? nil : now &+ time, now: now, in: arena)
  }

  private func empty(_ key: Key) { jars[key] = CookieJar(epoch: nextNumber()) }

  private func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
