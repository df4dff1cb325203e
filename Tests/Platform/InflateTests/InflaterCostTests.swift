import Foundation
import Inflate
import TestSupport
import Testing

/// The CPU time for decoding one response body (T64).
@Suite struct InflaterCostTests {
  /// Maximum thread CPU time, the best of five. Several times the measured time, for sanitizers and slow machines.
  private static let most = Duration.milliseconds(4 * Int(patience))

  @Test func `T64: decoding a body at the size limits takes a few milliseconds`() throws {
    let zeros = [UInt8](repeating: 0, count: Inflater.maximumDecodedSize)
    let bodies: [(String, [UInt8], Inflater.Coding)] = [
      ("zeros", compressed(zeros, level: 9), .gzip), ("too many zeros", compressed(zeros + zeros, level: 9), .gzip),
      ("tables", emptyBlocks(byteCount: 65_536), .deflate),
      ("tables with bytes behind them", compressed(zeros, gzip: false) + emptyBlocks(byteCount: 65_536), .deflate),
      ("bodies", Array(repeating: compressed([]), count: 3_000).flatMap { $0 }, .gzip),
      ("a long name", [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0x61, count: 65_536), .gzip),
    ]
    for (name, body, coding) in bodies {
      let cost = try threadCost { try decode(body, coding) }
      #expect(cost < Self.most, "\(name): \(cost)")
      if ProcessInfo.processInfo.environment["BEARERD_SHOW_COSTS"] != nil { print(name, cost) }
    }
  }

  private func decode(_ body: [UInt8], _ coding: Inflater.Coding) throws {
    let inflater = try Inflater(coding)
    _ = try? inflater.decode(body.span) { _ in true }
  }
}

/// Returns a zlib stream of at least `count` bytes, made of empty blocks with the shortest possible code tables.
/// Decoding them costs only the construction of tables.
func emptyBlocks(byteCount count: Int) -> [UInt8] {
  var bytes: [UInt8] = [0x78, 0x01]
  var (buffer, bits) = (0, 0)
  func put(_ value: Int, _ width: Int) {
    buffer |= value << bits
    bits += width
    while bits >= 8 {
      bytes.append(UInt8(buffer & 255))
      buffer >>= 8
      bits -= 8
    }
  }
  while bytes.count < count {
    put(0, 1)
    put(2, 2)
    put(0, 5)  // 257 literals and lengths
    put(0, 5)  // one distance
    put(14, 4)  // 18 lengths of code lengths: 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1] {
      put(symbol == 18 || symbol == 1 ? 1 : 0, 3)
    }
    // codes: 1 is `0`, 18 is `1`. 256 times none, then one bit for the end, then one for the distance.
    put(1, 1)
    put(127, 7)
    put(1, 1)
    put(107, 7)
    put(0, 1)
    put(0, 1)
    put(0, 1)  // the end of the block
  }
  return bytes
}
