import Inflate
import TestSupport
import Testing

/// Compressed bodies (T64).
@Suite struct InflaterTests {
  private static let text = Array(
    String(repeating: "{\"error\":\"Incorrect API key provided: sk-123\"}\n", count: 900).utf8)

  @Test(arguments: [true, false], [Int32(0), 1, 6, 9])
  func `T64: a compressed body is decoded in pieces of any size`(gzip: Bool, level: Int32) throws {
    let body = compressed(Self.text, gzip: gzip, level: level)
    for size in [1, 2, 7, 1_000, 100_000] {
      let pieces = stride(from: 0, to: body.count, by: size).map { Array(body[$0..<min(body.count, $0 + size)]) }
      let result = try decoded(pieces, gzip ? .gzip : .deflate)
      #expect(result.bytes == Self.text && result.isWhole)
    }
  }

  @Test(arguments: [Int32(0), 1, 6, 9])
  func `T64: a deflate body is decoded with and without the zlib header`(level: Int32) throws {
    for text in [Self.text, Array("x".utf8), []] {
      for windowBits: Int32 in [-15, -9, 15, 9] {
        let body = compressed(text, level: level, windowBits: windowBits)
        for size in [1, 2, 3, 1_000, 100_000] {
          let pieces = stride(from: 0, to: body.count, by: size).map { Array(body[$0..<min(body.count, $0 + size)]) }
          let result = try decoded(pieces, .deflate)
          #expect(result.bytes == text && result.isWhole, "\(windowBits) \(size)")
        }
        #expect(try !decoded([Array(body.dropLast())], .deflate).isWhole, "\(windowBits)")
      }
    }
  }

  @Test func `T64: bytes are decoded as soon as they arrive`() throws {
    let body = compressed(Self.text, level: 0)
    let inflater = try Inflater(.gzip)
    var bytes: [UInt8] = []
    _ = try inflater.decode(Array(body[..<2_000]).span) {
      bytes += $0; return true
    }
    #expect(bytes.count > 1_900 && Self.text.starts(with: bytes) && !inflater.isComplete)
  }

  @Test func `T64: concatenated bodies are decoded as one body`() throws {
    let body = compressed(Array("first, ".utf8)) + compressed([]) + compressed(Array("second".utf8))
    for split in 0...body.count {
      let result = try decoded([Array(body[..<split]), Array(body[split...])])
      #expect(result.bytes == Array("first, second".utf8) && result.isWhole)
    }
  }

  @Test func `T64: an empty body is complete, and a truncated body is not`() throws {
    #expect(try decoded([]).isWhole && decoded([[]]).isWhole)
    let body = compressed(Self.text)
    for count in 1..<body.count where count % 7 == 1 || count > body.count - 20 {
      #expect(try !decoded([Array(body[..<count])]).isWhole, "\(count) of \(body.count)")
    }
  }

  @Test func `T64: a body that is not in its declared coding is refused`() throws {
    let gzip = compressed(Self.text)
    let deflate = compressed(Self.text, gzip: false)
    let raw = compressed(Self.text, windowBits: -15)
    var wrongSum = gzip
    wrongSum[wrongSum.count - 5] ^= 1
    var wrongLength = gzip
    wrongLength[wrongLength.count - 1] ^= 1
    let bodies: [([UInt8], Inflater.Coding)] = [
      (deflate, .gzip), (gzip, .deflate), (raw, .gzip), (Self.text, .gzip), (wrongSum, .gzip),
      (wrongLength, .gzip), (gzip + Array("garbage behind it".utf8), .gzip), ([0, 0, 0], .gzip),
    ]
    for (index, (body, coding)) in bodies.enumerated() {
      #expect(throws: Inflater.Problem.malformed, "\(index)") { try decoded([body], coding) }
    }
  }

  @Test func `T64: a body that decodes to more than the limit is refused`() throws {
    let most = [UInt8](repeating: 0, count: Inflater.maximumDecodedSize)
    #expect(try decoded([compressed(most)]).bytes.count == most.count)
    #expect(throws: Inflater.Problem.tooLarge) { try decoded([compressed(most + [0])]) }
    let more = try Inflater(.gzip, maximumDecodedSize: most.count + 1)
    #expect(try more.decode(compressed(most + [0]).span) { _ in true } && more.isComplete)
    let half = compressed([UInt8](repeating: 0, count: Inflater.maximumDecodedSize / 2))
    #expect(throws: Inflater.Problem.tooLarge) { try decoded([half, half, half]) }
  }

  /// Decoding a block costs more than decoding a byte, because each block has its own code tables.
  @Test func `T64: a body with more blocks than a compressor makes is refused`() throws {
    let few = compressed(Array("few".utf8))
    #expect(try decoded([Array(repeating: few, count: 20).flatMap { $0 }]).isWhole)
    #expect(throws: Inflater.Problem.tooLarge) { try decoded([Array(repeating: few, count: 100).flatMap { $0 }]) }
    #expect(throws: Inflater.Problem.tooLarge) { try decoded([emptyBlocks(byteCount: 16_384)], .deflate) }
    var random = SeededGenerator(state: 7)
    let noise = (0..<Inflater.maximumDecodedSize).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(try decoded([compressed(noise)]).bytes == noise)
  }

  @Test func `T64: decoding stops when the consumer wants no more bytes`() throws {
    let inflater = try Inflater(.gzip)
    var blocks = 0
    let isTaken = try inflater.decode(compressed([UInt8](repeating: 0, count: 200_000)).span) { block in
      blocks += 1
      return false
    }
    #expect(!isTaken && blocks == 1)
  }

  @Test func `T64: random and damaged bodies do not trap`() throws {
    var random = SeededGenerator(state: 64)
    let body = compressed(Self.text)
    for round in 0..<2_000 {
      var bytes = round % 2 == 0 ? body : (0..<60).map { _ in UInt8.random(in: 0...255, using: &random) }
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = try? decoded([bytes], round % 4 < 2 ? .gzip : .deflate)
    }
  }
}
