@_spi(SecretBytes) internal import Secrets
internal import System

/// A cookie of a jar. Its value is a secret.
final class StoredCookie {
  /// `NAME=VALUE`, as it goes out.
  let pair: Secret
  private let nameCount: Int
  /// The cookie goes out with requests below this path alone.
  let path: [UInt8]
  /// Counts up with each cookie that is no newer value of an older one.
  let number: UInt64
  /// When the cookie ends, in milliseconds of the clock that goes on in sleep.
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

  /// The range of its value in `pair`.
  var value: Range<Int> { (nameCount + 1)..<pair.count }

  /// The bytes that it takes of its jar.
  var size: Int { pair.count + 2 + path.count }

  func isOver(at now: UInt64) -> Bool { end <= now }

  /// Whether a newer one takes its place (RFC 6265 section 5.3, step 11). Names have a case.
  func isNamed(_ name: Span<UInt8>, at path: [UInt8]) -> Bool {
    guard name.count == nameCount, path == self.path else { return false }
    return pair.withBytes { pair in name.withUnsafeBytes { pair.prefix(nameCount).elementsEqual($0) } }
  }

  /// Section 5.1.4, "path-match".
  func isMeant(for requestPath: UnsafeRawBufferPointer) -> Bool {
    guard requestPath.starts(with: path) else { return false }
    return requestPath.count == path.count || path.last == UInt8(ascii: "/")
      || requestPath[path.count] == UInt8(ascii: "/")
  }
}
