import HTTP1
import Primitives
import TestSupport
import Testing

/// The cost of parsing one message is linear in its size, whatever its content (T60).
@Suite struct CostTests {
  @Test(arguments: walkers)
  func `T60: parsing takes linear time for every kind of message`(walker: Walker) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let head = HeadLimits().headBytes

  static let walkers = requests + responses + repairs + lines + challenges + lists + cookies + bodies + pieces + blocks

  private static let requests: [Walker] = fields.map { name, text in
    Walker("HeadReader", "a request whose \(name)", upTo: head) { count in
      let bytes = message("GET / HTTP/1.1\r\nHost: a\r\n", text, count)
      return { read { reader, into in _ = try? reader.readRequest(bytes.span, into: &into) } }
    }
  }

  private static let responses: [Walker] = fields.map { name, text in
    Walker("FieldLines", "a response whose \(name)", upTo: head) { count in
      let bytes = message("HTTP/1.1 200 OK\r\n", text, count)
      return {
        var reader = HeadReader(limits: HeadLimits())
        var head = ResponseHead()
        _ = try? reader.readResponse(bytes.span, into: &head)
      }
    }
  }

  private static let repairs: [Walker] =
    [
      ("blanks before colons", "x : a\r\n"), ("illegal names", "x y: a\r\n"), ("empty names", ":\n"),
      ("folds", "x: a\r\n b\r\n"), ("lines that end with LF", "x:\n"), ("equal lengths", "Content-Length: 1\r\n"),
      ("one list of lengths", "1,"),
    ].map { name, text in
      Walker("HeadRepair", "a response with \(name)", upTo: HeadLimits.forResponses.headBytes) { count in
        let start = "HTTP/1.1 200 OK\r\n" + (text == "1," ? "Content-Length:" : "")
        return repair(message(start, text, count))
      }
    } + [
      Walker("HeadRepair", "a long name with many folds", upTo: HeadLimits.forResponses.headBytes) { count in
        let name = repeated("x", bytes: count / 2)
        return repair(message("HTTP/1.1 200 OK\r\n\(String(decoding: name, as: UTF8.self)): a\r\n", " \r\n", count))
      }
    ]

  private static func repair(_ bytes: [UInt8]) -> () -> Void {
    {
      var reader = HeadReader(limits: .forResponses, repairs: true)
      var head = ResponseHead()
      _ = try? reader.readResponse(bytes.span, into: &head)
    }
  }

  private static let lines: [Walker] = [
    Walker("HeadReader", "a request that comes byte by byte", upTo: head, nanoseconds: 200) { count in
      let bytes = message("GET / HTTP/1.1\r\nHost: a\r\n", "X: ", count)
      return {
        read { reader, into in
          for end in 1...bytes.count { _ = try? reader.readRequest(bytes.span.extracting(first: end), into: &into) }
        }
      }
    },
    Walker("StartLine", "a long target", upTo: 16_000) { count in
      let bytes = Array("GET /".utf8) + repeated("a", bytes: count) + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      return { read { reader, into in _ = try? reader.readRequest(bytes.span, into: &into) } }
    },
    Walker("RequestTarget", "a long authority", upTo: 16_000) { count in
      let bytes = Array("GET http://".utf8) + repeated("a.", bytes: count) + Array("/ HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      return { read { reader, into in _ = try? reader.readRequest(bytes.span, into: &into) } }
    },
    Walker("Authority", "a long host", upTo: head) { count in
      let bytes = Array("GET / HTTP/1.1\r\nHost: ".utf8) + repeated("a.", bytes: count) + Array("\r\n\r\n".utf8)
      return { read { reader, into in _ = try? reader.readRequest(bytes.span, into: &into) } }
    },
    Walker("HTTPDate", "a long date", upTo: head) { count in
      let text = String(decoding: repeated("Sun, 06-", bytes: count), as: UTF8.self)
      return { _ = HTTPDate.seconds(parsing: text, now: 0) }
    },
  ]

  private static let schemes: [(String, String)] = [
    ("schemes", "Basic,"), ("parameters", "Digest a=b,"), ("tokens", "Negotiate YII=,"),
    ("quotes", "Digest a=\"\\b\","),
    ("a long token", "a"), ("signs", "="), ("commas", ", "), ("a scheme and blanks", "a   \t"),
  ]

  private static let challenges: [Walker] =
    schemes.map { name, text in
      Walker("Challenge", name, upTo: head) { count in
        let bytes = repeated(text, bytes: count)
        return { _ = Challenge.read(0..<bytes.count, of: bytes.span)?.first?.value(of: "none", in: bytes.span) }
      }
    } + [
      Walker("Challenge", "names that differ late", upTo: head) { count in
        let names = (0..<64).map { String(repeating: "n", count: count / 64 - 6) + "\($0 + 10)=1" }
        let bytes = Array(("Digest " + names.joined(separator: ",")).utf8)
        return { _ = Challenge.read(0..<bytes.count, of: bytes.span) }
      }
    ]

  private static let lists: [Walker] = [
    ("elements", "a,"), ("quotes", "\"\\a\","), ("blanks", " \t,"), ("one element", "a"),
  ].map { name, text in
    Walker("Fields", "a list of \(name)", upTo: head) { count in
      let bytes = repeated(text, bytes: count)
      return {
        var elements = ListElements(0..<bytes.count)
        while elements.next(in: bytes.span) != nil {}
      }
    }
  }

  private static let cookies: [Walker] = [
    ("attributes", "a=b;"), ("empty ones", ";"), ("blanks", "a= \t \t"), ("equals", "="), ("ages", "max-age=1;"),
    ("dates", "expires=Sun, 06-Nov-94 08:49:37 GMT;"), ("paths", "path=/;"),
  ].map { name, text in
    Walker("SetCookie", name, upTo: head) { count in
      let bytes = Array("a=b;".utf8) + repeated(text, bytes: count)
      return { _ = SetCookie(0..<bytes.count, of: bytes.span)?.lifetime(now: 0, of: bytes.span) }
    }
  }

  private static let bodies: [Walker] = [
    ("BodyReader", "chunks of one byte", "1\r\na\r\n"), ("ChunkLine", "extensions", "1;a=\"\\b\"\r\na\r\n"),
    ("TrailerSection", "trailers", "0\r\n" + String(repeating: "x-longer-name: a\r\n", count: 400)),
    ("TrailerSection", "short trailers", "0\r\n" + String(repeating: "a:\r\n", count: 2_000)),
  ].map { file, name, text in
    Walker(file, name, upTo: head) { count in
      let bytes = repeated(text, bytes: count)
      return {
        var reader = BodyReader(.chunked)
        var position = 0
        while true {
          guard let step = try? reader.next(bytes.span, position: &position) else { return }
          switch step {
          case .data: continue
          case .needsMore, .end: return
          }
        }
      }
    }
  }

  private static let pieces: [Walker] = [
    Walker("TrailerSection", "trailers that come byte by byte", upTo: 8_000, nanoseconds: 1_000) { count in
      let bytes =
        Array("0\r\n".utf8) + repeated("x-longer-name: \(String(repeating: "a", count: 80))\r\n", bytes: count)
      return {
        var reader = BodyReader(.chunked)
        for index in bytes.indices {
          var position = 0
          _ = try? reader.next(bytes.span.extracting(index..<(index + 1)), position: &position)
        }
      }
    },
    Walker("MessageWriter", "a chunk for each byte", upTo: head) { count in
      let bytes = repeated("a", bytes: count)
      return {
        var output = ByteBuffer()
        for index in bytes.indices { MessageWriter.chunk(bytes.span.extracting(index..<(index + 1)), to: &output) }
      }
    },
  ]

  private static let blocks: [Walker] = [
    ("short fields", "a", ""), ("cookies", "cookie", "a=b"), ("blanks", "a", " \t \t \t \t"),
    ("long values", "x-some-name", String(repeating: "some value", count: 100)),
    ("long names", String(repeating: "x-some-name", count: 100), "a"),
  ].flatMap { name, field, value in
    [
      Walker("HeaderBlock+Response", name, upTo: head) { count in
        let block = block([(":status", "200")], field, value, count)
        return {
          var text = ByteBuffer()
          try? block.writeResponse(to: &text)
        }
      },
      Walker("HeaderBlock+Request", name, upTo: head) { count in
        let start: Pairs = [(":method", "GET"), (":scheme", "http"), (":path", "/")]
        let block = block(start, field, value, count, end: [("host", "a")])
        return {
          var text = ByteBuffer()
          try? block.writeRequest(hasBody: true, to: &text)
        }
      },
    ]
  }

  /// Returns a block with the field repeated up to this size, counted as a peer's limit counts.
  private static func block(_ start: Pairs, _ name: String, _ value: String, _ count: Int, end: Pairs = [])
    -> HeaderBlock
  {
    let number = count / (name.utf8.count + value.utf8.count + 32)
    return HeaderBlock(start + Array(repeating: (name, value), count: number) + end)
  }

  /// Field lines that are repeated to fill a head.
  private static let fields: [(String, String)] = [
    ("fields are short", "a:\r\n"), ("fields are long", "x-some-name: some value \t \r\n"),
    ("Connection names much", "Connection: \(String(repeating: "a,", count: 400))\r\n"),
    ("Connection says close", "Connection: \(String(repeating: "close,", count: 400))\r\n"),
    ("fields are blank", "a:\(String(repeating: " \t", count: 400))\r\n"),
    ("codings are many", "Transfer-Encoding: \(String(repeating: "gzip, ", count: 10_000))\r\n"),
    ("codings are blanks", "Transfer-Encoding: \(String(repeating: "\t ", count: 30_000))\r\n"),
    ("length is long", "Content-Length: \(String(repeating: "0", count: 60_000))\r\n"),
  ]

  private static func message(_ start: String, _ text: String, _ count: Int) -> [UInt8] {
    Array(start.utf8) + repeated(text, bytes: count - start.utf8.count - 4) + Array("\r\n\r\n".utf8)
  }

  private static func read(_ body: (inout HeadReader, inout RequestHead) -> Void) {
    var reader = HeadReader(limits: HeadLimits())
    var head = RequestHead()
    body(&reader, &head)
  }
}
