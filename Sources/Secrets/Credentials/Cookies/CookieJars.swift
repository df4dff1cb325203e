package import Policy
internal import Secrets
internal import System

/// The login that cookies belong to. If another person may have logged in, the owner is different.
enum CookieOwner: Sendable, Equatable {
  /// A login that lasts until the credential's value changes. Identified by the value's fingerprint.
  case value(String)
  /// An OAuth login. Its number stays the same while tokens are renewed.
  case token(TokenSource, UInt64)
}

/// Allows one request to send a jar's cookies, and its response to store cookies in the jar. Invalid once the jar is
/// emptied.
package final class JarTicket: Sendable {
  let key: CookieJars.Key
  let epoch: UInt64

  init(key: CookieJars.Key, epoch: UInt64) {
    self.key = key
    self.epoch = epoch
  }
}

/// The cookies of all credentials with `cookies: jar` (T34). Upstreams set them in responses. They are sent only in
/// later requests with the same credential to the same origin.
///
/// All workers share the jars, so that a program can continue its session on any worker, and a logout removes all
/// cookies.
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
  /// The last jar number. Numbers are never reused, so a cookie for an earlier jar never gets into a later jar.
  private var lastNumber: UInt64 = 0

  /// Lifetime of a cookie without an expiry, in milliseconds: one day.
  static let sessionCookieLifetime: UInt64 = 24 * 3_600_000
  /// Maximum lifetime of a cookie in seconds. Longer lifetimes are reduced to it (RFC 6265bis section 5.5).
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

  /// Empties all jars of a credential. Responses that are still expected cannot store cookies there.
  /// - Returns: the number of cookies that were removed.
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

  /// Empties a credential's jars, except the jars with cookies of the login `holder`.
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

  /// Returns a ticket with which one request can use the jar; `nil` if there is no jar. First empties the jar if its
  /// cookies belong to another login than `holder`.
  func ticket(to key: Key, of holder: CookieOwner) -> JarTicket? {
    lock {
      guard let jar = jars[key] else { return nil }
      if jar.owner != holder {
        empty(key)
        jars[key]?.owner = holder
      }
      return jars[key].map { JarTicket(key: key, epoch: $0.epoch) }
    }
  }

  /// Returns the `Cookie` field for a request. `nil` if the jar has no cookies for `path`, or if it was emptied after
  /// `ticket` was issued.
  /// - Parameters:
  ///   - path: the request's path, without its query.
  ///   - own: the arena in which the result is allocated. Only the calling worker uses it.
  func line(
    with ticket: JarTicket, for path: UnsafeRawBufferPointer, in own: SecretArena
  ) throws(SystemError) -> CookieLine? {
    lock.lock()
    defer { lock.unlock() }
    guard jars[ticket.key]?.epoch == ticket.epoch else { return nil }
    jars[ticket.key]?.removeExpired(at: BootTimer.now)
    return try jars[ticket.key]?.line(for: path, in: own)
  }

  /// Stores a cookie from a response. Drops the cookie if the jar was emptied after `ticket` was issued, or if there is
  /// not enough memory.
  /// - Parameter lifetime: lifetime in seconds; `nil` if the response does not say; 0 to delete the cookie.
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
