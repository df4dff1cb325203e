/// An IPv4 or IPv6 address as a value; IPv4-mapped IPv6 is read as the IPv4 address it stands for.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16, network order.
  package let bytes: [UInt8]

  /// nil unless 4 or 16 bytes.
  package init?(bytes: [UInt8]) { fatalError() }
  /// Dotted quad of four decimal numbers, or RFC 4291 text without brackets or zone. Nothing else (`0x7f.1` is nil).
  package init?(parsing text: String) { fatalError() }

  /// Canonical text (RFC 5952 for IPv6), without brackets.
  package var description: String { fatalError() }
  package var isLoopback: Bool { fatalError() }
  /// Loopback, link-local (cloud metadata included), unspecified, multicast, or a known metadata address (fd00:ec2::254): what no public name may
  /// resolve to, in any embedding (IPv4-mapped, NAT64 64:ff9b::/96, 6to4).
  package var isForbiddenByDefault: Bool { fatalError() }
}

/// A CIDR block.
package struct AddressBlock: Hashable, Sendable {
  package init?(parsing text: String) { fatalError() }
  package func contains(_ address: IPAddress) -> Bool { fatalError() }
}
