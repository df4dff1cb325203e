import Primitives
import Testing

@Suite struct ByteBufferTests {
  @Test func `appended pieces of every length are kept, also when the buffer has to grow`() {
    var buffer = ByteBuffer()
    var expected: [UInt8] = []
    for length in 0..<300 {
      let piece = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ length) }
      buffer.append(piece.span)
      buffer.append(UInt8(truncatingIfNeeded: length))
      expected += piece + [UInt8(truncatingIfNeeded: length)]
    }
    #expect(Array(buffer.contents) == expected)
    #expect(buffer.count == expected.count)
  }

  @Test func `removed bytes never come back, and contents read earlier do not change`() {
    var buffer = ByteBuffer()
    buffer.append("secret")
    let taken = buffer.contents
    buffer.removeAll()
    #expect(buffer.isEmpty && buffer.contents.isEmpty)
    buffer.append("ab")
    #expect(String(decoding: buffer.contents, as: UTF8.self) == "ab")
    #expect(String(decoding: taken, as: UTF8.self) == "secret")
    buffer.truncate(to: 1)
    buffer.append("c")
    #expect(String(decoding: buffer.contents, as: UTF8.self) == "ac")
    buffer.truncate(to: 5)
    #expect(buffer.count == 2)
    buffer.removeFirst(1)
    #expect(String(decoding: buffer.contents, as: UTF8.self) == "c")
    buffer.removeFirst(9)
    #expect(buffer.isEmpty)
  }
}
