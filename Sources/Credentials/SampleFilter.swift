internal import System

extension SecretPatterns {
  /// Which samples some pattern has, roughly: one that it has not passes once in thousands. A table of bytes comes first, since
  /// a byte that is zero is told from others faster than a bit.
  struct Filter {
    private let base: UnsafeRawPointer

    private static let bytes = 1 << 12
    private static let bits = 1 << 14
    private static let firstBits = bytes + bits / 8

    init?(_ filter: UnsafeRawBufferPointer) {
      guard let base = filter.baseAddress else { return nil }
      self.base = base
    }

    /// Zero: no pattern has the sample that stands here.
    @inline(__always)
    func flags(_ text: UnsafeRawPointer, _ position: Int) -> UInt8 {
      let hash = Self.hash(text.loadUnaligned(fromByteOffset: position, as: UInt32.self))
      return base.load(fromByteOffset: Self.byte(hash), as: UInt8.self)
    }

    @inline(__always)
    func mayHave(_ sample: UInt32) -> Bool {
      let hash = Self.hash(sample)
      return base.load(fromByteOffset: Self.byte(hash), as: UInt8.self) & Self.flag(hash) != 0 && hasBit(Self.bit(hash))
    }

    func mayBegin(with byte: UInt8) -> Bool { hasBit(8 &* Self.firstBits &+ Int(byte)) }

    @inline(__always)
    private func hasBit(_ index: Int) -> Bool {
      base.load(fromByteOffset: index >> 3, as: UInt8.self) & (1 << UInt8(truncatingIfNeeded: index & 7)) != 0
    }

    /// Of the first `stride` samples of each pattern: it shows one of them wherever it stands.
    static func made(
      of patterns: borrowing SecretList, stride: Int, in arena: SecretArena
    ) throws(SystemError) -> Secret {
      var filter = try Secret(capacity: firstBits + 32, in: arena)
      for _ in 0..<(firstBits + 32) { try filter.append(0 as UInt8) }
      let ranges = patterns.ranges
      patterns.withBytes { bytes in
        for range in ranges {
          filter.setBit(8 * firstBits + Int(bytes[range.lowerBound]))
          for offset in 0..<stride {
            let hash = hash(bytes.loadUnaligned(fromByteOffset: range.lowerBound + offset, as: UInt32.self))
            filter.setBit(8 * byte(hash) + flag(hash).trailingZeroBitCount)
            filter.setBit(bit(hash))
          }
        }
      }
      return filter
    }

    @inline(__always)
    private static func hash(_ sample: UInt32) -> UInt64 { UInt64(sample) &* 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private static func byte(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 52) }

    @inline(__always)
    private static func flag(_ hash: UInt64) -> UInt8 { 1 << UInt8(truncatingIfNeeded: hash >> 49 & 7) }

    @inline(__always)
    private static func bit(_ hash: UInt64) -> Int {
      8 &* bytes &+ Int(truncatingIfNeeded: hash >> 35 & UInt64(bits &- 1))
    }
  }
}
