/// Special-purpose addresses (IANA special-purpose registries; RFC 6890).
extension IPAddress {
  /// 127.0.0.0/8 or ::1.
  package var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// 0.0.0.0 or ::.
  package var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

  /// Whether bearerd connects to this address only if the configuration allows it: loopback, link-local, unspecified,
  /// multicast, broadcast and cloud metadata services.
  package var isForbiddenByDefault: Bool {
    // Private addresses (RFC 1918, ULA) are not forbidden, because many upstreams have them.
    if bytes.count == 4 { return Self.isForbidden4(bytes[...]) }
    if isLoopback || bytes[0] == 0xff { return true }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0x80 { return true }
    if Self.metadata6.contains(bytes) { return true }
    return embedded.contains { Self.isForbidden4($0) }
  }

  private static func isForbidden4(_ bytes: ArraySlice<UInt8>) -> Bool {
    let bytes = Array(bytes)
    switch bytes[0] {
    case 0, 127, 224...239: return true
    case 169: return bytes[1] == 254
    default: return metadata4.contains(bytes) || bytes == [255, 255, 255, 255]
    }
  }

  /// The IPv4 addresses that an IPv6 address may embed.
  private var embedded: [ArraySlice<UInt8>] {
    // IPv4-compatible, SIIT (::ffff:0:0/96), 6to4, and NAT64 (64:ff9b::/96 and 64:ff9b:1::/48).
    let isZero = { (range: Range<Int>) in bytes[range].allSatisfy { $0 == 0 } }
    if isZero(0..<12) { return [bytes[12...]] }
    if isZero(0..<8), bytes[8...11] == [0xff, 0xff, 0, 0] { return [bytes[12...]] }
    if bytes[0...1] == [0x20, 0x02] { return [bytes[2...5]] }
    guard bytes[0...3] == [0x00, 0x64, 0xff, 0x9b] else { return [] }
    if isZero(4..<12) { return [bytes[12...]] }
    // Prefixes in 64:ff9b:1::/48 (RFC 8215) may have any length of RFC 6052 §2.2. At /48 and /56, byte 8 is inside of
    // the IPv4 address and is skipped.
    guard bytes[4...5] == [0x00, 0x01] else { return [] }
    return [
      bytes[6...7] + bytes[9...10], bytes[7...7] + bytes[9...11], bytes[9...12], bytes[12...],
    ]
  }

  /// IPv4 addresses of metadata services outside of 169.254.0.0/16: Alibaba, Oracle, Azure.
  private static var metadata4: [[UInt8]] { [[100, 100, 100, 200], [192, 0, 0, 192], [168, 63, 129, 16]] }

  /// IPv6 addresses of metadata services: AWS, Google, Oracle, Scaleway.
  private static var metadata6: [[UInt8]] {
    [
      [0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54],
      [0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54],
      [0xfd, 0x00, 0x00, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe],
      [0xfd, 0x00, 0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x42],
    ]
  }
}
