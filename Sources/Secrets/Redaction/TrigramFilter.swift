@_spi(SecretBytes) internal import Secrets
internal import System

/// Three consecutive bytes of a text, which are looked up together.
enum Sample {
  static let size = 3
  /// Number of bytes that are loaded to read a sample of three bytes.
  static let loadedSize = 4

  /// Calls `body` with the sample in each combination of upper and lower case.
  static func forEachCase(_ sample: UInt32, _ body: (UInt32) -> Void) {
    // Only `a` to `f` and `x` vary, as in hexadecimal digits and `&#x`.
    var letters: UInt32 = 0
    for index in 0..<UInt32(size) {
      switch UInt8(truncatingIfNeeded: sample >> (8 * index)) {
      case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "x"): letters |= 0x20 << (8 * index)
      default: break
      }
    }
    // Enumerates all subsets of the letters' case bits.
    var subset: UInt32 = 0
    repeat {
      body(sample & ~subset)
      subset = (subset &- letters) & letters
    } while subset != 0
  }
}

extension SecretPatterns {
  /// Looks up whether a pattern contains a sample (three bytes). May have false positives.
  struct Filter {
    private let base: UnsafeRawPointer

    /// Size in bytes of the table that `flags` reads.
    private static let bytes = 1 << 14
    private static let bits = 1 << 14
    private static let excess: UInt32 = 32 - 14
    private static let firstBits = bytes + bits / 8

    init?(_ filter: UnsafeRawBufferPointer) {
      guard let base = filter.baseAddress else { return nil }
      self.base = base
    }

    /// Looks up the three bytes at `position`, and returns 0 only if no pattern contains them.
    @inline(__always)
    func flags(_ text: UnsafeRawPointer, _ position: Int) -> UInt8 {
      let hash = Self.hash(text.loadUnaligned(fromByteOffset: position, as: UInt32.self))
      return base.load(fromByteOffset: Self.byte(hash), as: UInt8.self)
    }

    // Not inlined, so that the code for every sample stays small.
    /// Like `flags`, but slower and with fewer false positives.
    @inline(never)
    func verifiedFlags(_ text: UnsafeRawPointer, _ position: Int) -> UInt8 {
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

    // MARK: construction

    /// Creates the lookup table with the samples that begin in the first `stride` bytes of each pattern.
    static func make(
      from patterns: [SecretPattern], _ bytes: UnsafeRawBufferPointer, stride: Int, in arena: SecretArena
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

    /// Hashes the three bytes of a sample, and ignores the fourth byte.
    @inline(__always)
    private static func hash(_ sample: UInt32) -> UInt32 { sample &* 0x3779_B100 }

    @inline(__always)
    private static func byte(_ hash: UInt32) -> Int { Int(hash >> excess) }

    @inline(__always)
    private static func flag(_ hash: UInt32) -> UInt8 { 1 << UInt8(truncatingIfNeeded: hash >> (excess &- 3) & 7) }

    @inline(__always)
    private static func bit(_ sample: UInt32) -> Int { 8 &* bytes &+ Int((sample &* 0xEBCA_6B00) >> excess) }
  }
}
