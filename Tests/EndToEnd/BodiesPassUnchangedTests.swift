import StatusModel
import TestServer
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct BodiesPassUnchanged {
  static let count = 48 << 20

  @Test func `T53: responses are not compressed, even if the client accepts compression`() throws {
    let text = String(repeating: "a", count: 4_096)
    let stage = try Stage(
      handler: UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n\(text)"))
    try stage.start()
    let response = try stage.get(fields: "Accept-Encoding: gzip, br\r\n")
    #expect(response.status == 200 && response.text == text && response.values("Content-Encoding").isEmpty)
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [false, true])
  func `a large response reaches the client unchanged, in constant memory`(isChunked: Bool) throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/warm") {
          connection.respond("warm")
          continue
        }
        connection.send(
          "HTTP/1.1 200 OK\r\n"
            + (isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(Self.count)\r\n\r\n"))
        try? Pattern.write(Self.count) { try connection.write(isChunked ? Pattern.chunk($0) : $0) }
        if isChunked { connection.send("0\r\n\r\n") }
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
  }

  @Test(arguments: [false, true])
  func `a large request body reaches the upstream unchanged, in constant memory`(isChunked: Bool) throws {
    let stage = try Stage { connection in
      while let (head, first) = connection.head() {
        if head.contains("/warm") {
          connection.respond("warm")
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
