import HTTP1
import TestSupport
import Testing

/// The result of reading a body, with the number of bytes read.
struct ReadBody: Equatable {
  var data: [UInt8] = []
  var taken = 0
  var hasEnded = false
  var trailers: [String] = []
}

/// Feeds `bytes` to a reader in pieces that end at `ends`.
func readBody(_ length: BodyLength, _ bytes: [UInt8], cutAt ends: [Int]) throws(MessageError) -> ReadBody {
  var reader = BodyReader(length)
  var body = ReadBody()
  for end in ends {
    let piece = Array(bytes[body.taken..<max(end, body.taken)])
    var position = 0
    piece: while true {
      let start = position
      switch try reader.next(piece.span, position: &position) {
      case .needsMore:
        #expect(position == piece.count)
        #expect(!reader.isComplete)
        break piece
      case .data(let range):
        #expect(!range.isEmpty && range.lowerBound >= start && range.upperBound == position)
        body.data += piece[range]
      case .end:
        body.hasEnded = true
        break piece
      }
    }
    body.taken += position
    if body.hasEnded { break }
  }
  #expect(reader.isComplete == body.hasEnded)
  // An incomplete section has none yet.
  let trailers = reader.takeTrailers() ?? Trailers()
  body.trailers = trailers.fields.map {
    String(decoding: trailers.bytes[$0.name], as: UTF8.self) + "="
      + String(decoding: trailers.bytes[$0.value], as: UTF8.self)
  }
  return body
}

/// A reader that is called for single steps.
struct Steps {
  var reader: BodyReader
  var position = 0

  init(_ length: BodyLength) { reader = BodyReader(length) }

  @discardableResult
  mutating func feed(_ bytes: [UInt8], from start: Int = 0) throws(MessageError) -> BodyReader.Step {
    position = start
    return try reader.next(bytes.span, position: &position)
  }
}

@Suite struct BodyReaderTests {
  @Test func `T33: the reader keeps no copy of trailers that are masked`() throws {
    var reader = BodyReader(.chunked)
    let bytes = Array("0\r\nX-A: first\r\nX-B: second\r\n\r\n".utf8)
    var position = 0
    #expect(try reader.next(bytes.span, position: &position) == .end)
    guard var trailers = reader.takeTrailers() else { throw TestFailure("no trailers") }
    let before = trailers.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    for index in trailers.fields[0].value { trailers.bytes[index] = UInt8(ascii: "*") }
    #expect(String(decoding: trailers.bytes, as: UTF8.self).hasPrefix("X-A: *****\r\nX-B: second\r\n"))
    // A second owner of the bytes would have led to a copy.
    #expect(trailers.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) } == before)
    let again = reader.takeTrailers()
    #expect(again == nil)
  }

  static let rows: [(BodyLength, String, String, Bool, [String])] = [
    (.none, "", "", true, []),
    (.length(0), "", "", true, []),
    (.length(5), "hello", "hello", true, []),
    (.length(6), "hello", "hello", false, []),
    (.length(.max), "hello", "hello", false, []),
    (.untilClose, "hello\r\n", "hello\r\n", false, []),
    (.chunked, "0\r\n\r\n", "", true, []),
    (.chunked, "5\r\nhello\r\n0\r\n\r\n", "hello", true, []),
    (.chunked, "1\r\nh\r\n4\r\nello\r\n000\r\n\r\n", "hello", true, []),
    (.chunked, "0000000000000005\r\nhello\r\n0\r\n\r\n", "hello", true, []),
    (.chunked, "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", true, []),
    (.chunked, "2\r\n\r\n\r\n0\r\n\r\n", "\r\n", true, []),
    (.chunked, "7fffffffffffffff\r\nhello", "hello", false, []),
    (.chunked, "5;a\r\nhello\r\n0;b=c;d=\"e\"\r\n\r\n", "hello", true, []),
    (.chunked, "5 ; a = b\t;c;d = \"\\\"\t\\\\;\u{E4}\" ;e\r\nhello\r\n0\r\n\r\n", "hello", true, []),
    (.chunked, "5;a=\"\"\r\nhello\r\n0\r\n\r\n", "hello", true, []),
    (.chunked, "1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n", "a", true, ["X-Sum=1"]),
    (.chunked, "0\r\ngrpc-status:0\r\nEtag: \"a\" \r\nX:\r\n\r\n", "", true, ["grpc-status=0", "Etag=\"a\"", "X="]),
    (.chunked, "5\r\nhello\r\n0\r\nX: a\r\n", "hello", false, []),
    (.chunked, "5\r\nhello\r\n0\r\n", "hello", false, []),
  ]

  @Test(arguments: rows)
  func `bodies are read the same at every split, and reading stops at their end`(
    _ length: BodyLength, _ text: String, _ data: String, _ ends: Bool, _ trailers: [String]
  ) throws {
    let text = latin1(text)
    for bytes in ends ? [text, text + Array("GET / HTTP".utf8)] : [text] {
      for cut in waysToCut(bytes.count) {
        let body = try readBody(length, bytes, cutAt: cut)
        #expect(body.data == latin1(data))
        #expect(body.hasEnded == ends)
        #expect(body.taken == text.count)
        #expect(!ends || body.trailers == trailers)
      }
    }
  }

  static let refusals: [(MessageError.Reason, String)] = [
    (.badChunkSize, "\r\n"), (.badChunkSize, "\r\n5\r\nhello"), (.badChunkSize, " 5\r\nhello"),
    (.badChunkSize, "5 \r\nhello"), (.badChunkSize, "5\t\r\nhello"), (.badChunkSize, "0x5\r\nhello"),
    (.badChunkSize, "+5\r\nhello"), (.badChunkSize, "-5\r\nhello"), (.badChunkSize, "5_0\r\nhello"),
    (.badChunkSize, "5,\r\nhello"), (.badChunkSize, "5 5\r\nhello"), (.badChunkSize, "g\r\n"),
    (.badChunkSize, "5\u{0B}\r\nhello"), (.badChunkSize, "5\0\r\nhello"), (.badChunkSize, "\u{B2}\r\n"),
    (.badChunkSize, "8000000000000000\r\n"), (.badChunkSize, "ffffffffffffffff\r\n"),
    (.badChunkSize, "10000000000000005\r\n"), (.badChunkSize, "00000000000000005\r\nhello"),
    (.badChunkSize, ";a\r\n"), (.badChunkSize, "5;\r\nhello"), (.badChunkSize, "5;;a\r\nhello"),
    (.badChunkSize, "5;a=\r\nhello"), (.badChunkSize, "5;=b\r\nhello"), (.badChunkSize, "5;a b\r\nhello"),
    (.badChunkSize, "5;a=b c\r\nhello"), (.badChunkSize, "5;a=b=c\r\nhello"), (.badChunkSize, "5;a=\"b\r\nhello"),
    (.badChunkSize, "5;a=\"b\"c\r\nhello"), (.badChunkSize, "5;a=\"\0\"\r\nhello"),
    (.badChunkSize, "5;a=\"\\\r\nhello"), (.badChunkSize, "5;a=\u{E4}\r\nhello"), (.badChunkSize, "5;a \r\nhello"),
    (.badChunkSize, "5;a=b;\r\nhello"), (.badChunkSize, "5;a=\"\u{7F}\"\r\n"),
    (.bareLineFeed, "5\nhello"), (.bareLineFeed, "\n"), (.bareLineFeed, "5;a\nb\r\nhello"),
    (.bareLineFeed, "5;a=\"\n\"\r\nhello"), (.bareLineFeed, "5;a=\"\\\n\"\r\nhello"),
    (.bareLineFeed, "1\r\na\r\n0\n\r\n"), (.bareCarriageReturn, "5\rhello"), (.bareCarriageReturn, "5\r\rhello"),
    (.bareCarriageReturn, "5;a\rb\r\nhello"), (.bareCarriageReturn, "0\r\n\r\r\n"), (.bareCarriageReturn, "0\r\n\rX"),
    (.badChunkEnd, "5\r\nhellox"), (.badChunkEnd, "5\r\nhello\n"), (.badChunkEnd, "5\r\nhello\r\r"),
    (.badChunkEnd, "5\r\nhello0\r\n\r\n"), (.badChunkEnd, "5\r\nhello \r\n"), (.badChunkEnd, "4\r\nhello\r\n"),
    (.bareLineFeed, "0\r\n\n"), (.bareLineFeed, "0\r\nX: a\n\r\n"), (.bareLineFeed, "0\r\nX: a\r\n\n"),
    (.obsoleteFolding, "0\r\nX: a\r\n b\r\n\r\n"), (.obsoleteFolding, "0\r\n X: a\r\n\r\n"),
    (.spaceBeforeColon, "0\r\nX : a\r\n\r\n"), (.noColon, "0\r\nGET\r\n\r\n"),
    (.spaceBeforeColon, "0\r\nGET / HTTP/1.1\r\n\r\n"), (.badFieldValue, "0\r\nX: \0\r\n\r\n"),
    (.bareCarriageReturn, "0\r\nX: a\rb\r\n\r\n"),
  ]

  static let trailerNames = [
    "Content-Length", "Transfer-Encoding", "Host", "Authorization", "Proxy-Authorization", "Proxy-Anything", "Cookie",
    "Set-Cookie", "Connection", "TE", "Trailer", "Content-Encoding", "Content-Type", "Content-Range", "Expect",
    "Max-Forwards", "Cache-Control", "WWW-Authenticate", "Location", "Date", "Upgrade", "Keep-Alive", "X-Api-Key",
    "x_api_key", "content_length", "AUTHORIZATION", "X-Forwarded-For", "X_Forwarded_Host", "Impersonate-User", "Range",
    "If-Match", "Vary", "Sudo", "Sec-Fetch-Site", "Access-Control-Allow-Origin",
  ]

  static var chunkedRefusals: [(MessageError.Reason, String)] {
    refusals + [
      (.chunkLineTooLong, "5;" + String(repeating: "a", count: 254) + "\r\nhello"),
      (.trailersTooLarge, "0\r\nX: " + String(repeating: "a", count: 65_530) + "\r\n\r\n"),
      (.trailersTooLarge, "0\r\n" + String(repeating: "X:\r\n", count: 129) + "\r\n"),
    ]
  }

  @Test(arguments: chunkedRefusals)
  func `malformed chunked bodies are refused with the same reason at every split`(
    _ reason: MessageError.Reason, _ text: String
  ) {
    let bytes = latin1(text)
    for cut in bytes.count > 1_000 ? Array(waysToCut(bytes.count).prefix(2)) : waysToCut(bytes.count) {
      #expect(throws: MessageError(reason)) { _ = try readBody(.chunked, bytes, cutAt: cut) }
    }
  }

  @Test(arguments: trailerNames)
  func `forbidden trailers are dropped, but count toward the limit`(_ name: String) throws {
    for (count, fits) in [(1, true), (126, true), (127, false)] {
      let bytes = latin1("0\r\nX: a\r\n" + String(repeating: "\(name): 1\r\n", count: count) + "X-Sum: 1\r\n\r\n")
      var reader = BodyReader(.chunked)
      var position = 0
      do throws(MessageError) {
        #expect(try reader.next(bytes.span, position: &position) == .end)
        let trailers = reader.takeTrailers() ?? Trailers()
        #expect(
          fits && trailers.fields.map { String(decoding: trailers.bytes[$0.name], as: UTF8.self) } == ["X", "X-Sum"])
      } catch {
        #expect(!fits && error.reason == .trailersTooLarge)
      }
    }
  }

  @Test func `chunk lines of 256 bytes and trailers as large as a head are accepted`() throws {
    let line = Array(("5;" + String(repeating: "a", count: 253) + "\r\nhello\r\n0\r\n\r\n").utf8)
    #expect(try readBody(.chunked, line, cutAt: [line.count]).hasEnded)
    let trailers = Array(("0\r\nX: " + String(repeating: "a", count: 65_529) + "\r\n\r\n").utf8)
    #expect(try readBody(.chunked, trailers, cutAt: [trailers.count]).hasEnded)
    let many = Array(("0\r\n" + String(repeating: "X:\r\n", count: 128) + "\r\n").utf8)
    #expect(try readBody(.chunked, many, cutAt: [many.count]).trailers.count == 128)
  }

  @Test func `trailers have the same configured limits as a head`() throws {
    var limits = HeadLimits()
    (limits.headBytes, limits.fields) = (100, 20)
    for (text, fits) in [
      ("X: \(String(repeating: "a", count: 93))\r\n", true), ("X: \(String(repeating: "a", count: 94))\r\n", false),
      (String(repeating: "X:\r\n", count: 20), true), (String(repeating: "X:\r\n", count: 21), false),
    ] {
      var reader = BodyReader(.chunked, limits: limits)
      var position = 0
      do throws(MessageError) {
        #expect(try reader.next(latin1("0\r\n\(text)\r\n").span, position: &position) == .end && fits)
      } catch {
        #expect(error.reason == .trailersTooLarge && !fits)
      }
    }
  }

  @Test func `chunk extensions much larger than the data are refused`() {
    let chunk = Array(("1;" + String(repeating: "a", count: 200) + "\r\nx\r\n").utf8)
    let bytes = Array([[UInt8]](repeating: chunk, count: 100).joined())
    #expect(throws: MessageError(.chunkLineTooLong)) { _ = try readBody(.chunked, bytes, cutAt: [bytes.count]) }
  }

  @Test func `oversized trailers are refused at the limit, before their end`() throws {
    var steps = Steps(.chunked)
    #expect(try steps.feed(Array("0\r\nX: ".utf8)) == .needsMore)
    #expect(try steps.feed([UInt8](repeating: 0x61, count: 65_533)) == .needsMore)
    #expect(throws: MessageError(.trailersTooLarge)) { try steps.feed([0x61]) }
  }

  @Test func `body data is returned in pieces as large as the input`() throws {
    let data = [UInt8](repeating: 0x78, count: 262_144)
    for (length, before) in [(BodyLength.length(300_000), ""), (.untilClose, ""), (.chunked, "50000\r\n")] {
      var steps = Steps(length)
      let input = Array(before.utf8) + data
      #expect(try steps.feed(input) == .data(before.utf8.count..<input.count))
      #expect(try steps.feed(input, from: input.count) == .needsMore)
    }
  }

  @Test func `a body of known length is complete with its last byte`() throws {
    var steps = Steps(.length(2))
    #expect(!steps.reader.isComplete)
    #expect(try steps.feed([1, 2, 3, 4], from: 1) == .data(1..<3))
    #expect(steps.reader.isComplete)
    #expect(try steps.feed([1, 2, 3, 4], from: 3) == .end)
    #expect(steps.position == 3)
    #expect(BodyReader(.none).isComplete && BodyReader(.length(0)).isComplete)
    #expect(!BodyReader(.chunked).isComplete && !BodyReader(.untilClose).isComplete)
  }

  @Test func `a close within a body is an error, unless the close ends the body`() throws {
    for (length, text, isFine) in [
      (BodyLength.none, "", true), (.length(0), "", true), (.length(2), "ab", true), (.length(2), "a", false),
      (.length(2), "", false), (.untilClose, "", true), (.untilClose, "abc", true), (.chunked, "", false),
      (.chunked, "1", false), (.chunked, "1\r\n", false), (.chunked, "1\r\na", false), (.chunked, "1\r\na\r\n", false),
      (.chunked, "0\r\n", false), (.chunked, "0\r\n\r", false), (.chunked, "0\r\nX: a\r\n", false),
      (.chunked, "0\r\n\r\n", true),
    ] {
      var steps = Steps(length)
      let bytes = Array(text.utf8)
      while case .data = try steps.feed(bytes, from: steps.position) {}
      if isFine {
        try steps.reader.inputEnded()
        #expect(steps.reader.isComplete)
      } else {
        #expect(throws: MessageError(.closedInBody)) { try steps.reader.inputEnded() }
      }
    }
  }
}
