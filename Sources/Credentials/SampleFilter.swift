internal import System

/// Four bytes of a text in a row, as they are loaded: what can be compared at once.
enum Sample {
  static let size = 4

  /// The same for letters of either case.
  @inline(__always)
  static func folded(_ sample: UInt32) -> UInt32 { sample | 0x2020_2020 }
}

extension SecretPatterns {
  /// Which samples some pattern has, roughly: one that it has not passes once in thousands. A table of bytes comes first, since
  /// a byte that is zero is told from others faster than a bit. The case of letters is left out.
  struct Filter {
    private let base: UnsafeRawPointer

    /// A credential of two values has hundreds of samples: with less room for them, every other text would be compared.
    private static let bytes = 1 << 14
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

    func mayBegin(with byte: UInt8) -> Bool { hasBit(Self.first(byte)) }

    @inline(__always)
    private func hasBit(_ index: Int) -> Bool {
      base.load(fromByteOffset: index >> 3, as: UInt8.self) & (1 << UInt8(truncatingIfNeeded: index & 7)) != 0
    }

    // MARK: making one

    /// Of the samples that begin within the first `stride` bytes of each pattern: it shows one of them wherever it stands.
    static func made(
      of values: borrowing SecretList, _ forms: borrowing SecretList, _ others: borrowing SecretList, stride: Int,
      in arena: SecretArena
    ) throws(SystemError) -> Secret {
      var filter = try Secret(capacity: firstBits + 32, in: arena)
      for _ in 0..<(firstBits + 32) { try filter.append(0 as UInt8) }
      add(forms, stride, to: &filter)
      add(others, stride, to: &filter)
      values.withBytes { bytes in
        for range in values.ranges {
          let samples = SpelledSamples(value: UnsafeRawBufferPointer(rebasing: bytes[range]), stride: stride)
          samples.forEach { add($0, to: &filter) }
          samples.forEachFirst { filter.setBit(first($0)) }
        }
      }
      return filter
    }

    private static func add(_ forms: borrowing SecretList, _ stride: Int, to filter: inout Secret) {
      forms.withBytes { bytes in
        for range in forms.ranges {
          filter.setBit(first(bytes[range.lowerBound]))
          for offset in 0..<stride {
            add(bytes.loadUnaligned(fromByteOffset: range.lowerBound + offset, as: UInt32.self), to: &filter)
          }
        }
      }
    }

    private static func add(_ sample: UInt32, to filter: inout Secret) {
      let hash = hash(sample)
      filter.setBit(8 * byte(hash) + flag(hash).trailingZeroBitCount)
      filter.setBit(bit(hash))
    }

    private static func first(_ byte: UInt8) -> Int { 8 &* firstBits &+ Int(byte | 0x20) }

    @inline(__always)
    private static func hash(_ sample: UInt32) -> UInt64 { UInt64(Sample.folded(sample)) &* 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private static func byte(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 50) }

    @inline(__always)
    private static func flag(_ hash: UInt64) -> UInt8 { 1 << UInt8(truncatingIfNeeded: hash >> 47 & 7) }

    @inline(__always)
    private static func bit(_ hash: UInt64) -> Int {
      8 &* bytes &+ Int(truncatingIfNeeded: hash >> 33 & UInt64(bits &- 1))
    }
  }
}
