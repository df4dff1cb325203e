@_spi(SecretBytes) internal import Secrets
internal import System

final class StoredCookie {
  /// `NAME=VALUE`, as sent.
  let pair: Secret
  private let nameCount: Int
  /// Only requests to this path or below it carry the cookie.
  let path: [UInt8]
  /// Position in the order in which the jar's cookies were created.
  let number: UInt64
  /// When the cookie expires, in milliseconds of the clock that continues during suspend.
  private let end: UInt64

  init(
    name: Span<UInt8>, value: Span<UInt8>, path: [UInt8], number: UInt64, end: UInt64, in arena: SecretArena
  ) throws(SystemError) {
    var pair = try Secret(capacity: name.count + value.count + 1, in: arena)
    try name.withUnsafeBytes { (bytes) throws(SystemError) in try pair.append(bytes) }
    try pair.append(UInt8(ascii: "="))
    try value.withUnsafeBytes { (bytes) throws(SystemError) in try pair.append(bytes) }
    self.pair = pair
    nameCount = name.count
    self.path = path
    self.number = number
    self.end = end
  }

  var value: Range<Int> { (nameCount + 1)..<pair.count }

  /// Number of bytes that count toward `CookieJar.mostBytes`.
  var size: Int { pair.count + 2 + path.count }

  func isExpired(at now: UInt64) -> Bool { end <= now }

  /// Whether a new cookie with this name and path replaces the cookie (RFC 6265 section 5.3, step 11).
  func isNamed(_ name: Span<UInt8>, at path: [UInt8]) -> Bool {
    guard name.count == nameCount, path == self.path else { return false }
    return pair.withBytes { pair in name.withUnsafeBytes { pair.prefix(nameCount).elementsEqual($0) } }
  }

  /// Whether a request to this path carries the cookie ("path-match", RFC 6265 section 5.1.4).
  func matches(path requestPath: UnsafeRawBufferPointer) -> Bool {
    guard requestPath.starts(with: path) else { return false }
    return requestPath.count == path.count || path.last == UInt8(ascii: "/")
      || requestPath[path.count] == UInt8(ascii: "/")
  }
}
