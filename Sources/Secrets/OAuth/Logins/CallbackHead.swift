import Primitives

/// Parses the head of the request by which a browser returns from a login (RFC 9112 section 3), while it arrives.
package struct CallbackHead: Sendable {
  package enum Result: Sendable, Equatable {
    case needsMore
    /// The request is not an HTTP/1 GET in origin-form, or a field line is invalid.
    case invalid
    /// `Host` is missing or repeated, or is not an address of the redirect URI.
    case wrongHost
    /// The range of the request target in the received bytes.
    case target(Range<Int>)
  }

  /// The permitted values of `Host`, in lower case: the address of the redirect URI.
  private let authorities: [[UInt8]]
  /// Offset from which the search for the end of the head continues, so that each byte is searched only once.
  private var searched = 0

  package init(authorities: [[UInt8]]) { self.authorities = authorities }

  /// Parses the head, or returns `needsMore` if it is incomplete.
  /// - Parameter bytes: all bytes received so far.
  package mutating func read(_ bytes: Span<UInt8>) -> Result {
    guard let end = end(of: bytes) else { return .needsMore }
    var line = 0..<lineEnd(bytes, from: 0, to: end)
    guard let target = target(bytes, in: line) else { return .invalid }
    var hosts = 0
    var isPermitted = false
    while line.upperBound < end {
      let start = line.upperBound + 2
      line = start..<lineEnd(bytes, from: start, to: end)
      guard let colon = nameEnd(bytes, in: line) else { return .invalid }
      guard colon - start == 4, isEqual(bytes, start, Array("host".utf8), ignoringCase: true) else { continue }
      hosts += 1
      isPermitted = isPermittedAuthority(bytes, colon + 1..<line.upperBound)
    }
    return hosts == 1 && isPermitted ? .target(target) : .wrongHost
  }

  /// Returns the offset of the CRLF CRLF that ends the head. `nil` if it has not arrived yet.
  private mutating func end(of bytes: Span<UInt8>) -> Int? {
    while searched + 4 <= bytes.count {
      if bytes[searched] == 13, bytes[searched + 1] == 10, bytes[searched + 2] == 13, bytes[searched + 3] == 10 {
        return searched
      }
      searched += 1
    }
    return nil
  }

  private func lineEnd(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
    var index = start
    while index < end, !(bytes[index] == 13 && bytes[index + 1] == 10) { index += 1 }
    return index
  }

  /// Returns the range of the target in `GET TARGET HTTP/1.x`. `nil` for another line, or if the target is invalid.
  private func target(_ bytes: Span<UInt8>, in line: Range<Int>) -> Range<Int>? {
    let method = Array("GET ".utf8)
    let version = Array(" HTTP/1.".utf8)
    guard line.count > method.count + version.count else { return nil }
    let target = line.lowerBound + method.count..<line.upperBound - version.count - 1
    let digit = bytes[line.upperBound - 1]
    guard isEqual(bytes, line.lowerBound, method), isEqual(bytes, target.upperBound, version),
      digit == UInt8(ascii: "0") || digit == UInt8(ascii: "1"), !target.isEmpty,
      bytes[target.lowerBound] == UInt8(ascii: "/")
    else { return nil }
    for index in target where bytes[index] <= 0x20 || bytes[index] >= 0x7F { return nil }
    return target
  }

  /// Returns the offset of a field line's colon. `nil` if the line is invalid.
  private func nameEnd(_ bytes: Span<UInt8>, in line: Range<Int>) -> Int? {
    for index in line {
      if bytes[index] <= 0x20 || bytes[index] >= 0x7F { return nil }
      if bytes[index] == UInt8(ascii: ":") { return index > line.lowerBound ? index : nil }
    }
    return nil
  }

  private func isPermittedAuthority(_ bytes: Span<UInt8>, _ field: Range<Int>) -> Bool {
    var (start, end) = (field.lowerBound, field.upperBound)
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while start < end, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return authorities.contains { $0.count == end - start && isEqual(bytes, start, $0, ignoringCase: true) }
  }

  private func isEqual(_ bytes: Span<UInt8>, _ start: Int, _ text: [UInt8], ignoringCase: Bool = false) -> Bool {
    for offset in text.indices {
      let byte = bytes[start + offset]
      if (ignoringCase ? ASCII.lowercased(byte) : byte) != text[offset] { return false }
    }
    return true
  }
}
