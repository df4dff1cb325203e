internal import HTTP1
internal import Policy
internal import Primitives

/// Rewrites a Set-Cookie of `cookies: pass` for a local client, so that no other service of the same host name gets the
/// cookie (T34).
enum CookieRewriting {
  /// Appends the rewritten field, or nothing if clients could misread the cookie.
  /// - Returns: `false` if nothing was appended, or if clients do not store a cookie of this name without Secure.
  static func write(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, to output: inout ByteBuffer
  ) -> Bool {
    let span = bytes.span
    var attributes = SetCookieAttributes(field.value, of: span)
    if containsAttribute(attributes.pair, span) { return false }
    var known = KnownAttributes()
    while let (name, value) = attributes.next(in: span) { known.store(name, value, span) }
    output.append(span.extracting(field.name))
    output.append(": ")
    output.append(span.extracting(attributes.pair))
    if let path = known.path {
      output.append("; Path=")
      writePath(path, of: bytes, context.snapshot.plans[context.route.service], to: &output)
    }
    if let maxAge = known.maxAge {
      output.append("; Max-Age=")
      output.append(span.extracting(maxAge))
    }
    if let expires = known.expires {
      output.append("; Expires=")
      output.append(span.extracting(expires))
    }
    if known.isHTTPOnly { output.append("; HttpOnly") }
    if let sameSite = known.sameSite { output.append(sameSite.rawValue) }
    output.append("\r\n")
    return !needsSecure(attributes.pair, span)
  }

  /// Whether clients accept a cookie of this name only with Secure (rfc6265bis section 4.1.3).
  private static func needsSecure(_ pair: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    for prefix in ["__host-", "__http-", "__secure-"] {
      if FieldName.matches(pair.prefix(prefix.utf8.count), of: bytes, prefix) { return true }
    }
    return false
  }

  /// Whether whitespace in the cookie's value is followed by Path or Domain.
  private static func containsAttribute(_ pair: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    // Python's `http.cookies` ends a value at whitespace, and reads `a=b Path=/` as a cookie with a path.
    for index in pair where ASCII.isBlank(bytes[index]) {
      // The pair does not end with whitespace.
      let start = bytes[index + 1] == UInt8(ascii: "$") ? index + 2 : index + 1
      if isFollowed("path", at: start, pair, bytes) || isFollowed("domain", at: start, pair, bytes) { return true }
    }
    return false
  }

  /// Whether `name` is at `start` and is followed by `=`.
  private static func isFollowed(_ name: String, at start: Int, _ pair: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    var end = start + name.utf8.count
    guard end < pair.upperBound, FieldName.matches(start..<end, of: bytes, name) else { return false }
    while end < pair.upperBound, ASCII.isBlank(bytes[end]) { end += 1 }
    return end < pair.upperBound && bytes[end] == UInt8(ascii: "=")
  }

  /// Appends the local form of a cookie's path.
  private static func writePath(
    _ path: Range<Int>, of bytes: [UInt8], _ plan: ForwardingPlan, to output: inout ByteBuffer
  ) {
    output.append(contentsOf: plan.localBase)
    guard bytes[path].starts(with: plan.basePath), isPlain(path, bytes.span) else { return }
    output.append(contentsOf: bytes[path].dropFirst(plan.basePath.count))
  }

  /// Whether all bytes are visible ASCII.
  private static func isPlain(_ path: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    for index in path where bytes[index] <= 0x20 || bytes[index] > 0x7E { return false }
    return true
  }
}

/// The attributes of a cookie to forward.
private struct KnownAttributes {
  enum SameSite: String { case lax = "; SameSite=Lax", strict = "; SameSite=Strict" }

  /// The range of the cookie's path. `nil` if there is no valid Path.
  private(set) var path: Range<Int>?
  private(set) var maxAge: Range<Int>?
  private(set) var expires: Range<Int>?
  private(set) var isHTTPOnly = false
  private(set) var sameSite: SameSite?

  mutating func store(_ name: SetCookieAttributes.Name, _ value: Range<Int>, _ bytes: Span<UInt8>) {
    switch name {
    case .path: path = value.first.map { bytes[$0] } == UInt8(ascii: "/") ? value : nil
    case .maxAge: if Self.isNumber(value, bytes) { maxAge = value }
    case .expires: if Self.isDate(value, bytes) { expires = value }
    case .httpOnly: isHTTPOnly = true
    case .sameSite:
      sameSite =
        FieldName.matches(value, of: bytes, "lax")
        ? .lax : FieldName.matches(value, of: bytes, "strict") ? .strict : nil
    case .domain, .secure, .other: break
    }
  }

  private static func isNumber(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    guard let first = value.first else { return false }
    let digits = bytes[first] == UInt8(ascii: "-") ? value.dropFirst() : value
    for index in digits where bytes[index] &- 0x30 > 9 { return false }
    return !digits.isEmpty
  }

  /// Whether all bytes can occur in a date.
  private static func isDate(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    for index in value {
      switch bytes[index] {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: break
      case UInt8(ascii: " "), UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "+"): break
      default: return false
      }
    }
    return !value.isEmpty
  }
}
