import Primitives

/// Reads the head of the request with which a browser comes back from a login (RFC 9112 section 3), while it arrives. The bytes
/// stay where they are, in locked memory: there is a code among them.
package struct CallbackHead: Sendable {
  package enum Result: Sendable, Equatable {
    /// The head is not whole yet.
    case needsMore
    /// The request is no GET in origin-form of HTTP/1, or one of its lines is no field.
    case notUnderstood
    /// `Host` is missing, there twice, or names something else: the page that asks was not sent here by the login.
    case otherHost
    /// The target's place in the bytes.
    case target(Range<Int>)
  }

  /// The values that `Host` may have, in lower case: the address of the redirect URI.
  private let authorities: [[UInt8]]
  /// No end of the head begins before this offset: each byte is looked at once, in however many pieces they come.
  private var searched = 0

  /// - Parameter authorities: what `Host` may be, in lower case.
  package init(authorities: [[UInt8]]) { self.authorities = authorities }

  /// - Parameter bytes: all that has come so far.
  package mutating func read(_ bytes: Span<UInt8>) -> Result {
    guard let end = end(of: bytes) else { return .needsMore }
    var line = 0..<lineEnd(bytes, from: 0, to: end)
    guard let target = target(bytes, in: line) else { return .notUnderstood }
    var hosts = 0
    var isOurs = false
    while line.upperBound < end {
      let start = line.upperBound + 2
      line = start..<lineEnd(bytes, from: start, to: end)
      guard let colon = nameEnd(bytes, in: line) else { return .notUnderstood }
      guard isHost(bytes, start..<colon) else { continue }
      hosts += 1
      isOurs = isOneOfOurs(bytes, colon + 1..<line.upperBound)
    }
    return hosts == 1 && isOurs ? .target(target) : .otherHost
  }

  /// The place of the empty line that ends the head; nil: it has not come yet.
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

  /// `GET TARGET HTTP/1.x`, the target in origin-form without controls and blanks.
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

  /// The colon of a field line; nil: it has none, or begins or ends its name with a blank.
  private func nameEnd(_ bytes: Span<UInt8>, in line: Range<Int>) -> Int? {
    for index in line {
      if bytes[index] <= 0x20 || bytes[index] >= 0x7F { return nil }
      if bytes[index] == UInt8(ascii: ":") { return index > line.lowerBound ? index : nil }
    }
    return nil
  }

  private func isHost(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Bool {
    name.count == 4 && isEqual(bytes, name.lowerBound, Array("host".utf8), ignoringCase: true)
  }

  private func isOneOfOurs(_ bytes: Span<UInt8>, _ field: Range<Int>) -> Bool {
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
