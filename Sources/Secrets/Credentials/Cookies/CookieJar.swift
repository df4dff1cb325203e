@_spi(SecretBytes) internal import Secrets
internal import System

/// The cookies of one credential for one origin, those that still count.
struct CookieJar {
  /// The value of the credential that the cookies belong to: another value may be another person's.
  var holder: CookieHolder?
  /// Another number each time the jar is emptied: cookies of answers to requests from before that are not kept.
  var number: UInt64
  private(set) var cookies: [StoredCookie] = []
  private var made: UInt64 = 0

  /// Cookies that the jar keeps: enough for any login, and each takes locked memory. The oldest goes first.
  static let mostCookies = 50
  /// Bytes of all cookies together, so also of a request's line: more than servers take.
  static let mostBytes = 8_192

  init(number: UInt64) { self.number = number }

  /// - Parameter end: when it ends; nil: it takes away what there is.
  mutating func take(
    name: Span<UInt8>, value: Span<UInt8>, path: [UInt8], end: UInt64?, now: UInt64, in arena: SecretArena
  ) throws(SystemError) {
    removeEnded(at: now)
    let earlier = cookies.firstIndex { $0.isNamed(name, at: path) }
    let earlierNumber = earlier.map { cookies.remove(at: $0).number }
    guard let end, end > now else { return }
    if earlierNumber == nil { made += 1 }
    let cookie = try StoredCookie(
      name: name, value: value, path: path, number: earlierNumber ?? made, end: end, in: arena)
    guard cookie.size <= Self.mostBytes else { return }
    cookies.append(cookie)
    cookies.sort { $0.number < $1.number }
    while cookies.count > Self.mostCookies || cookies.reduce(0, { $0 + $1.size }) > Self.mostBytes {
      let oldest = cookies.firstIndex { $0 !== cookie } ?? 0
      cookies.remove(at: oldest)
    }
  }

  mutating func removeEnded(at now: UInt64) { cookies.removeAll { $0.isOver(at: now) } }

  /// `Cookie: a=b; c=d` with its line end; nil: there is none. Longer paths first, then what was made earlier (section 5.4).
  func line(for path: UnsafeRawBufferPointer, in arena: SecretArena) throws(SystemError) -> CookieLine? {
    let meant = cookies.filter { $0.isMeant(for: path) }.sorted {
      ($1.path.count, $0.number) < ($0.path.count, $1.number)
    }
    guard let first = meant.first else { return nil }
    var line = try Secret(capacity: meant.reduce(16) { $0 + $1.size }, in: arena)
    var values: [Range<Int>] = []
    try line.append("Cookie: ")
    for cookie in meant {
      if cookie !== first { try line.append("; ") }
      values.append((line.count + cookie.value.lowerBound)..<(line.count + cookie.value.upperBound))
      try cookie.pair.withBytes { (pair) throws(SystemError) in try line.append(pair) }
    }
    try line.append("\r\n")
    return CookieLine(line, values: values)
  }
}

/// The field that goes out behind a credential's own.
final class CookieLine {
  let secret: Secret
  /// The ranges of its cookies' values.
  let values: [Range<Int>]

  /// A shorter value is no session's key, but a language or a number of items, which stands in innocent text.
  static let shortestKey = 16

  init(_ secret: consuming Secret, values: [Range<Int>]) {
    self.secret = secret
    self.values = values
  }

  /// Patterns that are looked for in answers.
  func addKeys(to list: inout SecretList) throws(SystemError) {
    try secret.withBytes { (bytes) throws(SystemError) in
      for range in values where range.count >= Self.shortestKey {
        try list.add { (text) throws(SystemError) in try text.append(UnsafeRawBufferPointer(rebasing: bytes[range])) }
      }
    }
  }
}
