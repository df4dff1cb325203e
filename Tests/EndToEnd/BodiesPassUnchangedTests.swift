import StatusModel
import TestServer
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct BodiesPassUnchanged {
  static let count = 48 << 20

  @Test(arguments: [false, true])
  func `large request and response bodies pass unchanged, in constant memory`(isChunked: Bool) throws {
    let stage = try Stage { connection in
      while let (head, first) = connection.head() {
        if head.hasPrefix("GET /base/warm ") {
          connection.respond("warm")
          continue
        }
        if head.hasPrefix("GET ") {
          connection.send(
            "HTTP/1.1 200 OK\r\n"
              + (isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(Self.count)\r\n\r\n"))
          try? Pattern.write(Self.count) { try connection.write(isChunked ? Pattern.chunk($0) : $0) }
          if isChunked { connection.send("0\r\n\r\n") }
          continue
        }
        var check = Pattern.Check()
        var rest = first
        func more() -> Bool {
          rest = (try? connection.read(maximum: 262_144)) ?? []
          return !rest.isEmpty
        }
        if head.contains("Content-Length: \(Self.count)\r\n") {
          check.compare(rest)
          while check.count < Self.count, more() { check.compare(rest) }
        } else if head.contains("Transfer-Encoding: chunked\r\n") {
          var chunks = Dechunker()
          while !chunks.decode(rest, into: { check.compare($0) }), more() {}
        }
        connection.respond("\(check.count) \(check.isRight)")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", "/api/warm"))
    #expect(try client.response().body == "warm")
    let before = stage.observed.residentPeak

    try client.send(stage.head("GET"))
    let head = try client.head()
    var check = Pattern.Check()
    if isChunked {
      #expect(head.contains("Transfer-Encoding: chunked"))
      try client.chunks { check.compare($0) }
    } else {
      #expect(head.contains("Content-Length: \(Self.count)"))
      while check.count < Self.count { check.compare(try client.read(maximum: min(262_144, Self.count - check.count))) }
    }
    #expect(check.isRight)
    #expect(check.count == Self.count)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 6_000))
    #expect(stage.log.wait(for: .request, ["down": "\(Self.count)"]))

    let framing = isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(Self.count)\r\n"
    try client.send(stage.head("PUT", fields: framing))
    try Pattern.write(Self.count) { try client.send(isChunked ? Pattern.chunk($0) : $0) }
    if isChunked { try client.send("0\r\n\r\n") }
    #expect(try client.response().body == "\(Self.count) true")
    #expect(stage.observed.hasGrown(since: before, byLessThan: 6_000))
    #expect(stage.log.wait(for: .request, ["up": "\(Self.count)"]))
  }
}

/// Decodes a chunked body that arrives in pieces.
struct Dechunker {
  private var line: [UInt8] = []
  private var remaining = 0
  private var skipped = 0

  /// Returns `true` after the last chunk.
  mutating func decode(_ bytes: [UInt8], into body: ([UInt8]) -> Void) -> Bool {
    var position = 0
    while position < bytes.count {
      if remaining > 0 {
        let end = min(bytes.count, position + remaining)
        body(Array(bytes[position..<end]))
        remaining -= end - position
        position = end
        if remaining == 0 { skipped = 2 }
      } else if skipped > 0 {
        skipped -= 1
        position += 1
      } else {
        line.append(bytes[position])
        position += 1
        guard line.last == 10 else { continue }
        remaining = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) ?? 0
        line = []
        if remaining == 0 { return true }
      }
    }
    return false
  }
}
