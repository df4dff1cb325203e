import Foundation

/// A body of any length whose every byte is known: equal is byte-exact, and a compared piece costs a memcmp.
package enum Pattern {
  /// No power of two, so that a piece that was lost, doubled or moved shows.
  private static let period = 65_521
  private static let block: [UInt8] = {
    var state: UInt32 = 2_463_534_242
    let once = (0..<period).map { _ in
      state ^= state << 13
      state ^= state >> 17
      state ^= state << 5
      return UInt8(truncatingIfNeeded: state >> 8)
    }
    return (0..<6).flatMap { _ in once }
  }()

  /// At most 256 KiB.
  package static func bytes(at offset: Int, count: Int) -> [UInt8] {
    let start = offset % period
    return Array(block[start..<(start + count)])
  }

  /// Follows a body and says where it went wrong.
  package struct Check {
    package private(set) var count = 0
    package private(set) var isRight = true

    package init() {}

    package mutating func take(_ bytes: [UInt8]) {
      var taken = 0
      while taken < bytes.count {
        let piece = min(262_144, bytes.count - taken)
        let start = count % period
        let isEqual = bytes.withUnsafeBytes { bytes in
          block.withUnsafeBytes { memcmp(bytes.baseAddress! + taken, $0.baseAddress! + start, piece) == 0 }
        }
        if !isEqual { isRight = false }
        count += piece
        taken += piece
      }
    }
  }

  /// All of `count` bytes, in pieces.
  package static func write(_ count: Int, piece: Int = 262_144, _ take: ([UInt8]) throws -> Void) rethrows {
    var offset = 0
    while offset < count {
      let size = min(piece, count - offset)
      try take(bytes(at: offset, count: size))
      offset += size
    }
  }

  package static func chunk(_ bytes: [UInt8]) -> [UInt8] {
    Array((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + [13, 10]
  }
}
