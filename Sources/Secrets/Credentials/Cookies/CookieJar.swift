@_spi(SecretBytes) internal import Secrets
internal import System

/// The unexpired cookies of one credential for one origin.
struct CookieJar {
  /// The login that the cookies belong to; `nil` until a request uses the jar.
  var owner: CookieOwner?
  /// Changes each time the jar is emptied, so that responses to earlier requests store no cookies.
  var epoch: UInt64
  private(set) var cookies: [StoredCookie] = []
  private var createdCount: UInt64 = 0

  /// Maximum number of cookies, beyond which the oldest is removed.
  static let mostCookies = 50
  /// Maximum total size of the cookies in bytes, beyond which the oldest are removed.
  static let mostBytes = 8_192

  init(epoch: UInt64) { self.epoch = epoch }

  /// Stores a cookie, or replaces the one with the same name and path.
  /// - Parameter end: when the cookie expires, in milliseconds of the same clock as `now`; `nil` to delete it.
  mutating func store(
    name: Span<UInt8>, value: Span<UInt8>, path: [UInt8], end: UInt64?, now: UInt64, in arena: SecretArena
  ) throws(SystemError) {
    removeExpired(at: now)
    let replaced = cookies.firstIndex { $0.isNamed(name, at: path) }
    let replacedNumber = replaced.map { cookies.remove(at: $0).number }
    guard let end, end > now else { return }
    if replacedNumber == nil { createdCount += 1 }
    let cookie = try StoredCookie(
      name: name, value: value, path: path, number: replacedNumber ?? createdCount, end: end, in: arena)
    guard cookie.size <= Self.mostBytes else { return }
    cookies.append(cookie)
    cookies.sort { $0.number < $1.number }
    while cookies.count > Self.mostCookies || cookies.reduce(0, { $0 + $1.size }) > Self.mostBytes {
      let oldest = cookies.firstIndex { $0 !== cookie } ?? 0
      cookies.remove(at: oldest)
    }
  }

  mutating func removeExpired(at now: UInt64) { cookies.removeAll { $0.isExpired(at: now) } }

  /// Returns the line `Cookie: a=b; c=d` with its line break; `nil` if no cookie matches.
  func line(for path: UnsafeRawBufferPointer, in arena: SecretArena) throws(SystemError) -> CookieLine? {
    // Longer paths come first, then older cookies (RFC 6265 section 5.4).
    let matching = cookies.filter { $0.matches(path: path) }.sorted {
      ($1.path.count, $0.number) < ($0.path.count, $1.number)
    }
    guard let first = matching.first else { return nil }
    var line = try Secret(capacity: matching.reduce(16) { $0 + $1.size }, in: arena)
    var values: [Range<Int>] = []
    try line.append("Cookie: ")
    for cookie in matching {
      if cookie !== first { try line.append("; ") }
      values.append((line.count + cookie.value.lowerBound)..<(line.count + cookie.value.upperBound))
      try cookie.pair.withBytes { (pair) throws(SystemError) in try line.append(pair) }
    }
    try line.append("\r\n")
    return CookieLine(line, values: values)
  }
}

/// The `Cookie` field with a jar's cookies.
final class CookieLine {
  let secret: Secret
  let values: [Range<Int>]

  /// Minimum length in bytes of a cookie value to search for.
  static let shortestKey = 16

  init(_ secret: consuming Secret, values: [Range<Int>]) {
    self.secret = secret
    self.values = values
  }

  /// Adds the cookie values that must be searched for in the response.
  func addKeys(to list: inout SecretList) throws(SystemError) {
    try secret.withBytes { (bytes) throws(SystemError) in
      for range in values where range.count >= Self.shortestKey {
        try list.add { (text) throws(SystemError) in try text.append(UnsafeRawBufferPointer(rebasing: bytes[range])) }
      }
    }
  }
}
