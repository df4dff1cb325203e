import Foundation

/// A body of any length whose bytes are all known, and that can be compared quickly.
package enum Pattern {
  /// Not a power of two, so that a lost, doubled or moved piece is noticed.
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

  /// - Parameter count: At most 256 KiB.
  package static func bytes(at offset: Int, count: Int) -> [UInt8] {
    let start = offset % period
    return Array(block[start..<(start + count)])
  }

  /// Compares a body with the pattern.
  package struct Check {
    package private(set) var count = 0
    package private(set) var isRight = true

    package init() {}

    package mutating func compare(_ bytes: [UInt8]) {
      var compared = 0
      while compared < bytes.count {
        let piece = min(262_144, bytes.count - compared)
        let start = count % period
        let isEqual = bytes.withUnsafeBytes { bytes in
          block.withUnsafeBytes { memcmp(bytes.baseAddress! + compared, $0.baseAddress! + start, piece) == 0 }
        }
        if !isEqual { isRight = false }
        count += piece
        compared += piece
      }
    }
  }

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
