package import Policy
internal import Secrets
internal import System

/// Whose cookies they are, beyond the name of the credential: whatever may be another person is another holder.
enum CookieHolder: Sendable, Equatable {
  /// The fingerprint of what is written.
  case value(String)
  /// Tokens that follow one another, and the number of those who held them.
  case token(TokenSource, UInt64)
}

/// The cookies of a request, and the jar of those of its answer: none, once that has been emptied meanwhile.
///
/// A class: most requests have none, and hand that on.
package final class JarTicket: Sendable {
  let place: CookieJars.Place
  let number: UInt64

  init(place: CookieJars.Place, number: UInt64) {
    self.place = place
    self.number = number
  }
}

/// `cookies: jar`: what upstreams have set in answers to requests with a credential, for later ones with the same credential
/// to the same origin, and for no other (T34).
///
/// One for all workers, and not a copy in each: a program that has begun a session by one connection goes on with it by the
/// next, whichever worker accepts that; and a logout leaves no jar behind in another worker.
///
/// Unchecked: the jars and their arena are touched under the lock alone.
package final class CookieJars: @unchecked Sendable {
  /// The credential and origin that a jar belongs to.
  package struct Place: Hashable, Sendable {
    package let credential: String
    let origin: Origin

    package init(credential: String, origin: Origin) {
      self.credential = credential
      self.origin = origin
    }
  }

  private let lock: SharedLock
  private let arena = SecretArena()
  private var jars: [Place: CookieJar] = [:]
  /// The highest number that a jar has had: none is used twice, so no cookie of an earlier jar gets into a later one.
  private var lastNumber: UInt64 = 0

  /// How long a cookie is kept that does not say how long it lasts, in milliseconds: as long as a day at work.
  static let sessionTime: UInt64 = 24 * 3_600_000
  /// Seconds; longer counts as this (RFC 6265bis section 5.5).
  static let longestTime: UInt64 = 400 * 86_400

  /// - Parameter isShared: there are several workers.
  package init(isShared: Bool) { lock = SharedLock(isShared: isShared) }

  // MARK: which there are

  /// Makes a jar for each of these places, and wipes those of all others.
  /// - Parameter mustLock: a cookie lies in locked memory, or nowhere.
  package func follow(_ places: Set<Place>, mustLock: Bool) {
    lock {
      arena.mustLock = mustLock
      for place in Array(jars.keys) where !places.contains(place) { jars[place] = nil }
      for place in places where jars[place] == nil { jars[place] = CookieJar(number: nextNumber()) }
    }
  }

  /// Empties all jars of a credential, and takes nothing of what is still on its way there.
  /// - Returns: how many cookies there were.
  @discardableResult
  package func forget(_ credential: String) -> Int {
    lock {
      var count = 0
      for place in Array(jars.keys) where place.credential == credential {
        jars[place]?.removeEnded(at: BootTimer.now)
        count += jars[place]?.cookies.count ?? 0
        empty(place)
      }
      return count
    }
  }

  /// Empties a credential's jars, unless they are this holder's.
  func keep(_ credential: String, of holder: CookieHolder) {
    lock {
      for place in Array(jars.keys) where place.credential == credential && jars[place]?.holder != holder {
        empty(place)
      }
    }
  }

  /// nil: the credential has no jar.
  package func count(of credential: String) -> Int? {
    lock {
      let now = BootTimer.now
      let counts = jars.compactMap { place, jar in
        place.credential == credential ? jar.cookies.count { !$0.isOver(at: now) } : nil
      }
      return counts.isEmpty ? nil : counts.reduce(0, +)
    }
  }

  // MARK: requests and answers

  /// nil: there is no jar.
  func ticket(to place: Place, of holder: CookieHolder) -> JarTicket? {
    lock {
      guard let jar = jars[place] else { return nil }
      if jar.holder != holder {
        empty(place)
        jars[place]?.holder = holder
      }
      return jars[place].map { JarTicket(place: place, number: $0.number) }
    }
  }

  /// - Parameters:
  ///   - path: of the request, without its query.
  ///   - own: an arena that is not shared.
  func line(
    with ticket: JarTicket, for path: UnsafeRawBufferPointer, in own: SecretArena
  ) throws(SystemError) -> CookieLine? {
    lock.enter()
    defer { lock.leave() }
    guard jars[ticket.place]?.number == ticket.number else { return nil }
    jars[ticket.place]?.removeEnded(at: BootTimer.now)
    return try jars[ticket.place]?.line(for: path, in: own)
  }

  /// Keeps a cookie of an answer to a request that went out with this ticket, unless there is no memory for it.
  /// - Parameter lifetime: seconds; nil: it does not say. 0: it takes away what there is.
  package func take(
    name: Span<UInt8>, value: Span<UInt8>, path: [UInt8], lifetime: UInt64?, with ticket: JarTicket
  ) {
    lock.enter()
    defer { lock.leave() }
    guard jars[ticket.place]?.number == ticket.number else { return }
    let now = BootTimer.now
    let time = lifetime.map { min($0, Self.longestTime) &* 1_000 } ?? Self.sessionTime
    try? jars[ticket.place]?.take(
      name: name, value: value, path: path, end: time == 0 ? nil : now &+ time, now: now, in: arena)
  }

  private func empty(_ place: Place) { jars[place] = CookieJar(number: nextNumber()) }

  private func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
