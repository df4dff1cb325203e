import Primitives

/// An IPv4 or IPv6 address. IPv4-mapped IPv6 addresses become IPv4 addresses.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes in network order.
  package let bytes: [UInt8]

  package init?(bytes: [UInt8]) {
    switch bytes.count {
    case 4: self.bytes = bytes
    case 16: self.bytes = Self.isMapped(bytes) ? Array(bytes[12...]) : bytes
    default: return nil
    }
  }

  /// Parses four decimal numbers with dots, or IPv6 text (RFC 4291) without brackets or zone. `nil` for other text.
  package init?(parsing text: String) {
    let text = Array(text.utf8)
    guard let bytes = text.contains(UInt8(ascii: ":")) ? Self.sixteen(text) : Self.four(text[...]) else { return nil }
    self.init(bytes: bytes)
  }

  /// Canonical text (RFC 5952 for IPv6), without brackets.
  package var description: String {
    if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    let gap = Self.longestZeroRun(groups)
    let head = groups[..<gap.lowerBound].map { String($0, radix: 16) }.joined(separator: ":")
    if gap.isEmpty { return head }
    return head + "::" + groups[gap.upperBound...].map { String($0, radix: 16) }.joined(separator: ":")
  }

  private static func isMapped(_ bytes: [UInt8]) -> Bool {
    bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
  }

  private static func four(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    // Rejects leading zeros, because some parsers read such numbers as octal.
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy(ASCII.isDigit) else { return nil }
      if part.count > 1, part.first == UInt8(ascii: "0") { return nil }
      let number = part.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
      guard let byte = UInt8(exactly: number) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// Parses an IPv6 address (RFC 4291 §2.2).
  private static func sixteen(_ text: [UInt8]) -> [UInt8]? {
    var head: [UInt8] = []
    var tail: [UInt8]?
    var rest = text[...]
    if rest.starts(with: [0x3a, 0x3a]) {
      tail = []
      rest = rest.dropFirst(2)
    }
    while !rest.isEmpty {
      let part = rest.prefix { $0 != UInt8(ascii: ":") }
      rest = rest.dropFirst(part.count)
      let group: [UInt8]?
      if rest.isEmpty, part.contains(UInt8(ascii: ".")) { group = four(part) } else { group = hexGroup(part) }
      guard let group else { return nil }
      if tail == nil { head += group } else { tail? += group }
      guard !rest.isEmpty else { break }
      rest = rest.dropFirst()
      if rest.first == UInt8(ascii: ":") {
        guard tail == nil else { return nil }
        tail = []
        rest = rest.dropFirst()
      } else if rest.isEmpty {
        return nil
      }
    }
    guard let tail else { return head.count == 16 ? head : nil }
    let missing = 16 - head.count - tail.count
    return missing >= 2 ? head + [UInt8](repeating: 0, count: missing) + tail : nil
  }

  private static func hexGroup(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    guard (1...4).contains(digits.count) else { return nil }
    var number: UInt16 = 0
    for digit in digits {
      guard let value = ASCII.hexValue(digit) else { return nil }
      number = number << 4 | UInt16(value)
    }
    return [UInt8(number >> 8), UInt8(number & 0xff)]
  }

  /// Returns the groups that `::` replaces in the text (RFC 5952 §4.2), or an empty range.
  private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int> {
    var longest = groups.count..<groups.count
    var start = 0
    for (index, group) in groups.enumerated() {
      if group != 0 {
        start = index + 1
      } else if index + 1 - start > max(1, longest.count) {
        longest = start..<index + 1
      }
    }
    return longest
  }
}
