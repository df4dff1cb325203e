import Primitives

/// A CIDR block (RFC 4632, RFC 4291 §2.3).
package struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
  private let base: IPAddress
  private let length: Int

  /// Parses `10.0.0.0/8`, `fd00::/8`, or a single address. `nil` for other text, and if a bit after the prefix is set.
  package init?(parsing text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(parsing: String(first)) else { return nil }
    base = address
    let width = address.bytes.count * 8
    guard parts.count == 2 else {
      length = width
      return
    }
    let digits = parts[1].utf8
    guard (1...3).contains(digits.count), digits.allSatisfy(ASCII.isDigit), let written = Int(parts[1]),
      String(written) == parts[1]
    else { return nil }
    // ::ffff:10.0.0.0/104 is 10.0.0.0/8
    length = first.contains(":") && width == 32 ? written - 96 : written
    guard (0...width).contains(length) else { return nil }
    for bit in length..<width where address.bytes[bit / 8] >> (7 - bit % 8) & 1 == 1 { return nil }
  }

  package func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == base.bytes.count else { return false }
    for index in base.bytes.indices {
      let bits = length - index * 8
      guard bits > 0 else { return true }
      let mask = bits >= 8 ? UInt8.max : ~(UInt8.max >> bits)
      if (base.bytes[index] ^ address.bytes[index]) & mask != 0 { return false }
    }
    return true
  }

  package var description: String { "\(base)/\(length)" }
}
