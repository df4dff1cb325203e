import TestSupport
import Testing

@testable import OAuth

/// What an authorization server or a browser that comes back from it can make us do (T60): as much as they send.
@Suite struct CostTests {
  @Test(arguments: heads + bodies + callbacks + callbackHeads)
  func `T60: whatever reads an answer or a callback looks at its bytes a bounded number of times`(walker: Walker) throws
  {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let heads: [Walker] = [
    ("AnswerIntake", "fields", "a:\r\n"), ("SetCookieLines", "cookies", "Set-Cookie: a=b\r\n"),
    ("AnswerIntake", "one field", "a: aaaaaaaa"),
    ("AnswerIntake", "interim answers", "\r\n\r\nHTTP/1.1 103 X\r\n"), ("AnswerHead", "types", "Content-Type: a\r\n"),
  ].flatMap { file, name, text in
    [16_384, 1].map { piece in
      Walker(file, "\(name), in pieces of \(piece)", upTo: 16_000, nanoseconds: piece == 1 ? 2_000 : nil) { count in
        let bytes = Array("HTTP/1.1 103 X\r\n".utf8) + repeated(text, bytes: count)
        return { if let intake = try? AnswerIntake(mustLock: false) { take(bytes, piece, intake) } }
      }
    }
  }

  private static func take(_ bytes: [UInt8], _ piece: Int, _ intake: AnswerIntake) {
    var start = 0
    while start < bytes.count {
      let end = min(start + piece, bytes.count)
      if intake.take(bytes.span.extracting(start..<end)) != .needsMore { return }
      start = end
    }
  }

  private static let bodies: [Walker] = [("a number", "1"), ("blanks", " "), ("a list", "1,"), ("texts", "\"a\",")]
    .flatMap { name, text in
      [200, 400].map { status in
        Walker("AnswerReader", "\(status), \(name)", upTo: 65_000, nanoseconds: 100) { count in
          let body =
            Array("{\"access_token\":[".utf8) + repeated(text, bytes: count / text.utf8.count * text.utf8.count)
            + Array("0]}".utf8)
          let source = try source()
          let head = AnswerHead(status: status, contentType: "application/json")
          let arena = arena
          return { _ = TokenAnswer.read(head, body.span, of: source, to: .token, now: 0, in: arena) }
        }
      }
    }

  private static let callbackHeads: [Walker] = [
    ("lines", "a:\r\n"), ("a long one", "a"), ("ends", "\r\n\r"), ("hosts", "Host: a\r\n"),
  ].flatMap { name, text in
    [16_384, 1].map { piece in
      Walker("CallbackHead", "\(name), in pieces of \(piece)", upTo: 64_000) { count in
        let bytes = Array("GET / HTTP/1.1\r\n".utf8) + repeated(text, bytes: count) + Array("\r\n\r\n".utf8)
        return {
          var head = CallbackHead(authorities: [Array("127.0.0.1:1".utf8)])
          for end in stride(from: piece, through: bytes.count, by: piece) {
            if head.read(bytes.span.extracting(first: end)) != .needsMore { return }
          }
          _ = head.read(bytes.span)
        }
      }
    }
  }

  private static let callbacks: [Walker] = [
    ("fields", "a&"), ("codes", "code=a&"), ("states", "state=%61&"), ("a long one", "a"),
  ].map { name, text in
    Walker("CallbackQuery", name, upTo: 16_000) { count in
      let target = Array("/call/back?".utf8) + repeated(text, bytes: count)
      let arena = arena
      return {
        guard let query = try? CallbackQuery(target.span, in: arena) else { return }
        for name in ["code", "state", "error", "iss"] as [StaticString] {
          _ = query.has(name)
          guard let value = try? query.value(name, in: arena) else { continue }
          _ = consume value
        }
      }
    }
  }
}
