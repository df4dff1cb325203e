@_spi(SecretBytes) internal import Secrets
internal import System

/// Three bytes of a text in a row: what is looked up at once. With four, fewer would be taken for what they are not, but a short
/// secret had to be sampled more often.
enum Sample {
  static let size = 3
  /// As they are loaded, with one more, which does not count.
  static let loaded = 4

  /// With every digit that is a letter, and the `x` of a reference, in either case.
  static func forEachCase(_ sample: UInt32, _ body: (UInt32) -> Void) {
    var letters: UInt32 = 0
    for index in 0..<UInt32(size) {
      switch UInt8(truncatingIfNeeded: sample >> (8 * index)) {
      case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "x"): letters |= 0x20 << (8 * index)
      default: break
      }
    }
    // Every part of what can be upper case, the whole of it last.
    var part: UInt32 = 0
    repeat {
      body(sample & ~part)
      part = (part &- letters) & letters
    } while part != 0
  }
}

extension SecretPatterns {
  /// The samples that patterns have, roughly: one that none has passes once in thousands. A table of bytes comes first, since
  /// a byte that is zero is told from others faster than a bit.
  struct Filter {
    private let base: UnsafeRawPointer

    /// A credential of two values has hundreds of samples: with less room for them, every other text would be compared.
    private static let bytes = 1 << 14
    private static let bits = 1 << 14
    /// The bits that a hash has in excess of the index of one of them.
    private static let excess: UInt32 = 32 - 14
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

    /// A surer and slower check; apart, so that what is done for every sample stays small.
    @inline(never)
    func doubt(_ text: UnsafeRawPointer, _ position: Int) -> UInt8 {
      let sample = text.loadUnaligned(fromByteOffset: position, as: UInt32.self)
      let hash = Self.hash(sample)
      let bit = Self.bit(sample)
      let bits = base.load(fromByteOffset: bit >> 3, as: UInt8.self) >> UInt8(truncatingIfNeeded: bit & 7)
      return base.load(fromByteOffset: Self.byte(hash), as: UInt8.self) & Self.flag(hash) & (0 &- (bits & 1))
    }

    func mayBegin(with byte: UInt8) -> Bool { hasBit(Self.first(byte)) }

    @inline(__always)
    private func hasBit(_ index: Int) -> Bool {
      base.load(fromByteOffset: index >> 3, as: UInt8.self) & (1 << UInt8(truncatingIfNeeded: index & 7)) != 0
    }

    // MARK: making one

    /// A filter of the samples that begin within the first `stride` bytes of each pattern: text is sampled at that distance.
    static func made(
      of patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer, stride: Int, in arena: SecretArena
    ) throws(SystemError) -> Secret {
      var filter = try Secret(capacity: firstBits + 32, in: arena)
      try filter.append(zeros: firstBits + 32)
      for pattern in patterns {
        let text = UnsafeRawBufferPointer(rebasing: bytes[pattern.range])
        switch pattern.spelling {
        case .escaped:
          let samples = EncodedTrigrams(value: text, stride: stride)
          samples.forEach { sample in Sample.forEachCase(sample) { add($0, to: &filter) } }
          samples.forEachFirst { filter.setBit(first($0)) }
        case .asItIs: forEachSample(of: text, stride) { add($0, to: &filter) }
        case .inAnyCase:
          forEachSample(of: text, stride) { sample in Sample.forEachCase(sample) { add($0, to: &filter) } }
        }
        filter.setBit(first(text[0]))
      }
      return filter
    }

    private static func forEachSample(of text: UnsafeRawBufferPointer, _ stride: Int, _ body: (UInt32) -> Void) {
      for offset in 0..<stride {
        body((0..<Sample.size).reduce(0) { $0 | UInt32(text[offset + $1]) << UInt32(8 * $1) })
      }
    }

    private static func add(_ sample: UInt32, to filter: inout Secret) {
      let hash = hash(sample)
      filter.setBit(8 * byte(hash) + flag(hash).trailingZeroBitCount)
      filter.setBit(bit(sample))
    }

    private static func first(_ byte: UInt8) -> Int { 8 &* firstBits &+ Int(byte | 0x20) }

    /// Whatever its fourth byte: what that adds overflows.
    @inline(__always)
    private static func hash(_ sample: UInt32) -> UInt32 { sample &* 0x3779_B100 }

    @inline(__always)
    private static func byte(_ hash: UInt32) -> Int { Int(hash >> excess) }

    @inline(__always)
    private static func flag(_ hash: UInt32) -> UInt8 { 1 << UInt8(truncatingIfNeeded: hash >> (excess &- 3) & 7) }

    /// By another hash.
    @inline(__always)
    private static func bit(_ sample: UInt32) -> Int { 8 &* bytes &+ Int((sample &* 0xEBCA_6B00) >> excess) }
  }
}
