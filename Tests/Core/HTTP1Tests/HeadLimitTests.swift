import HTTP1
import Testing

@Suite struct HeadLimitTests {
  private func limits(_ change: (inout HeadLimits) -> Void) -> HeadLimits {
    var limits = HeadLimits()
    change(&limits)
    return limits
  }

  @Test func `a head of exactly the limit is accepted, and one more byte gets 431`() {
    let text = Array("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    #expect(refusal(of: text, limits: limits { $0.headBytes = text.count }) == nil)
    let error = refusal(of: text, limits: limits { $0.headBytes = text.count - 1 })
    #expect(error?.reason == .headTooLarge)
    #expect(error?.status == 431)
  }

  @Test func `an oversized head is refused at the limit, before its end`() {
    let limits = limits { $0.headBytes = 100 }
    let text = Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + [UInt8](repeating: 0x61, count: 1_000)
    #expect(bytesBeforeRefusal(text, limits: limits) == 100)
    #expect(bytesBeforeRefusal([UInt8](repeating: 0x0D, count: 3), limits: limits) == 2)
    let lines = [[UInt8]](repeating: [0x0D, 0x0A], count: 100).flatMap { $0 }
    #expect(bytesBeforeRefusal(lines, limits: limits) == 100)
  }

  @Test func `an invalid byte beyond the limit does not change the reason`() {
    let text = Array("GET / HTTP/1.1\r\nHost: a\r\nX: aaaa\0\r\n\r\n".utf8)
    #expect(refusal(of: text, limits: limits { $0.headBytes = 32 })?.reason == .headTooLarge)
    #expect(refusal(of: text, limits: limits { $0.headBytes = 33 })?.reason == .badFieldValue)
  }

  @Test func `a target longer than the limit gets 414`() {
    let text = Array("GET /abcdefg HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    #expect(refusal(of: text, limits: limits { $0.targetBytes = 8 }) == nil)
    #expect(refusal(of: text, limits: limits { $0.targetBytes = Int.max }) == nil)
    let error = refusal(of: text, limits: limits { $0.targetBytes = 7 })
    #expect(error?.reason == .targetTooLong)
    #expect(error?.status == 414)
    #expect(bytesBeforeRefusal(text, limits: limits { $0.targetBytes = 7 }) == 12)
  }

  @Test func `a head with too many fields gets 431`() {
    let text = Array("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nY: 2\r\n\r\n".utf8)
    #expect(refusal(of: text, limits: limits { $0.fields = 3 }) == nil)
    let error = refusal(of: text, limits: limits { $0.fields = 2 })
    #expect(error?.reason == .tooManyFields)
    #expect(error?.status == 431)
  }

  @Test func `the default limits apply to requests and responses`() {
    let line = Array("X: 1\r\n".utf8)
    let start = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)
    let many = start + Array([[UInt8]](repeating: line, count: 128).joined())
    #expect(refusal(of: many)?.reason == .tooManyFields)
    let long = start + Array("X: ".utf8) + [UInt8](repeating: 0x61, count: 65_536)
    #expect(refusal(of: long)?.reason == .headTooLarge)
    let bytes = Array("HTTP/1.1 200 ".utf8) + [UInt8](repeating: 0x61, count: 65_536)
    var response = ResponseHead()
    #expect {
      _ = try readResponse(bytes, cutAt: [bytes.count], into: &response)
    } throws: { ($0 as? MessageError)?.reason == .headTooLarge }
  }
}
