import HTTP1
import TestSupport
import Testing

@Suite struct RandomBytesTests {
  static let pieces = [
    "GET ", "/", " HTTP/1.1", "\r\n", "\r", "\n", "Host: a", "Host:", "Content-Length: ", "5", "99999999999999999999",
    "Transfer-Encoding: chunked", "Connection: close", "Expect: 100-continue", ": ", ":", " ", "\t", ",", "\0",
    "\u{80}",
    "http://", "@", "#", "?", "*", "[::1]", "CONNECT ", "OPTIONS ", "HTTP/1.1 ", "200 ", "204", "X: y\r\n", "\r\n\r\n",
    "0\r\n", "5;a=\"", "\\", "\"", "ffffffffffffffff", "hello",
  ].map { latin1($0) }

  private func text(_ generator: inout SeededGenerator) -> [UInt8] {
    var bytes: [UInt8] = []
    switch Int.random(in: 0..<3, using: &generator) {
    case 0:
      for _ in 0..<Int.random(in: 0..<80, using: &generator) { bytes.append(.random(in: 0...255, using: &generator)) }
    case 1:
      for _ in 0..<Int.random(in: 0..<20, using: &generator) {
        bytes += Self.pieces.randomElement(using: &generator) ?? []
      }
    default:
      bytes = Array((RequestHeadTests.rows.randomElement(using: &generator)?.text ?? "").utf8)
      if Bool.random(using: &generator) {
        bytes = latin1(ResponseHeadTests.rows.randomElement(using: &generator)!.text)
      }
      for _ in 0..<Int.random(in: 1..<4, using: &generator) where !bytes.isEmpty {
        let index = Int.random(in: bytes.indices, using: &generator)
        let piece = Self.pieces.randomElement(using: &generator) ?? []
        bytes.replaceSubrange(index..<min(index + Int.random(in: 0..<3, using: &generator), bytes.count), with: piece)
      }
    }
    return bytes
  }

  private func outcome<Value>(_ work: () throws(MessageError) -> Value) -> Result<Value, MessageError> {
    do { return .success(try work()) } catch { return .failure(error) }
  }

  @Test(arguments: 0..<8)
  func `T59: random bytes never trap, and the result does not depend on the pieces`(_ seed: UInt64) {
    var generator = SeededGenerator(state: seed)
    var limits = HeadLimits()
    limits.fields = 4
    limits.targetBytes = 24
    limits.headBytes = 120
    for _ in 0..<2_000 {
      let bytes = text(&generator)
      var ends = (0..<Int.random(in: 0..<5, using: &generator)).map { _ in
        Int.random(in: 0...bytes.count, using: &generator)
      }
      ends = ends.sorted() + [bytes.count]
      var heads = (RequestHead(), RequestHead())
      let whole = outcome { () throws(MessageError) in
        try readRequest(bytes, cutAt: [bytes.count], limits: limits, into: &heads.0)
      }
      let cut = outcome { () throws(MessageError) in
        try readRequest(bytes, cutAt: ends, limits: limits, into: &heads.1)
      }
      #expect(whole == cut)
      if case .success(.some) = whole { #expect(ReadRequest(heads.0) == ReadRequest(heads.1)) }
      for repairs in [false, true] {
        var responses = (ResponseHead(), ResponseHead())
        let wholeResponse = outcome { () throws(MessageError) in
          try readResponse(bytes, cutAt: [bytes.count], limits: limits, repairs: repairs, into: &responses.0)
        }
        let cutResponse = outcome { () throws(MessageError) in
          try readResponse(bytes, cutAt: ends, limits: limits, repairs: repairs, into: &responses.1)
        }
        #expect(wholeResponse == cutResponse)
        #expect(responses.0.fields == responses.1.fields && responses.0.bytes == responses.1.bytes)
        #expect(responses.0.repairs == responses.1.repairs)
      }
      for length in [BodyLength.chunked, .length(UInt64(bytes.count / 2)), .untilClose] {
        let wholeBody = outcome { () throws(MessageError) in try readBody(length, bytes, cutAt: [bytes.count]) }
        let cutBody = outcome { () throws(MessageError) in try readBody(length, bytes, cutAt: ends) }
        #expect(wholeBody == cutBody)
      }
      let elements = elementsOfList(bytes, bytes.indices)
      #expect(elements.allSatisfy { !$0.isEmpty })
    }
  }
}
