import TestSupport
import Testing

@testable import OAuth

/// The CPU time for reading responses and callbacks (T60).
@Suite struct CostTests {
  @Test(arguments: heads + bodies + callbacks + callbackHeads)
  func `T60: reading a response or a callback takes time proportional to the number of bytes`(walker: Walker) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let heads: [Walker] = [
    ("TokenResponseReceiver", "fields", "a:\r\n"), ("SetCookieLines", "cookies", "Set-Cookie: a=b\r\n"),
    ("TokenResponseReceiver", "one field", "a: aaaaaaaa"),
    ("TokenResponseReceiver", "interim answers", "\r\n\r\nHTTP/1.1 103 X\r\n"),
    ("TokenResponseHead", "types", "Content-Type: a\r\n"),
  ].flatMap { file, name, text in
    [16_384, 1].map { piece in
      Walker(file, "\(name), in pieces of \(piece)", upTo: 16_000, nanoseconds: piece == 1 ? 2_000 : nil) { count in
        let bytes = Array("HTTP/1.1 103 X\r\n".utf8) + repeated(text, bytes: count)
        return { if let intake = try? TokenResponseReceiver(mustLock: false) { feed(bytes, piece, intake) } }
      }
    }
  }

  private static func feed(_ bytes: [UInt8], _ piece: Int, _ intake: TokenResponseReceiver) {
    var start = 0
    while start < bytes.count {
      let end = min(start + piece, bytes.count)
      if intake.receive(bytes.span.extracting(start..<end)) != .needsMore { return }
      start = end
    }
  }

  private static let bodies: [Walker] = [("a number", "1"), ("blanks", " "), ("a list", "1,"), ("texts", "\"a\",")]
    .flatMap { name, text in
      [200, 400].map { status in
        Walker("TokenResponseReader", "\(status), \(name)", upTo: 65_000, nanoseconds: 100) { count in
          let body =
            Array("{\"access_token\":[".utf8) + repeated(text, bytes: count / text.utf8.count * text.utf8.count)
            + Array("0]}".utf8)
          let source = try source()
          let head = TokenResponseHead(status: status, contentType: "application/json")
          let arena = arena
          return { _ = TokenResponse.read(head, body.span, of: source, to: .token, now: 0, in: arena) }
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
