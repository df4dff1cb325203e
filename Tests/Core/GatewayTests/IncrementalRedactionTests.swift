import Gateway
import HTTP1
import Policy
import Testing

/// A response that is costly to search is searched over several turns of the event loop (T60). In these tests each byte
/// has the maximum cost.
@Suite struct IncrementalRedactionTests {
  private static let body = String(repeating: "a^b~", count: 25_000)
  private static let masked = String(repeating: "a*b~", count: 25_000)
  private static let chunks =
    (0..<6_250).map { _ in "10\r\na^b~a^b~a^b~a^b~\r\n" }.joined() + "0\r\n\r\n"

  @Test(arguments: [
    "Content-Length: 100000", "Connection: close", "Transfer-Encoding: chunked", "Content-Encoding: gzip",
  ])
  func `T60: a response that is costly to search is searched over several turns and arrives complete`(field: String)
    throws
  {
    let isCoded = field.hasSuffix("gzip")
    var played = Conversation(try snapshot { $0.options.redact = isCoded ? .errors : .all })
    played.redaction?.stepsPerByte = 1
    played.client(get("Connection: close"))
    let body = field.hasSuffix("chunked") ? Self.chunks : Self.body
    played.upstream("HTTP/1.1 \(isCoded ? 500 : 200) Status\r\n\(field)\r\n\r\n\(body)")
    let turns = searchOn(&played)
    if played.phase == .exchanging { played.upstreamEnded() }
    let parts = played.response.split(separator: "\r\n\r\n", maxSplits: 1)
    let shown = String(parts.last ?? "")
    let isWhole = (played.response.contains("chunked") ? unchunked(shown) : shown) == Self.masked
    #expect(isWhole)
    // A turn searches 16,384 of the 100,000 bytes, and at most one more piece.
    #expect((4...8).contains(turns), "\(turns) turns")
  }

  @Test func `T60: an upgraded connection is searched over several turns`() throws {
    var played = Conversation(try snapshot { $0.options.redact = .all })
    played.redaction?.stepsPerByte = 1
    played.client(
      get(
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
    played.upstream(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\(Self.body)")
    let turns = searchOn(&played)
    played.upstreamEnded()
    let isWhole = played.response.hasSuffix("\r\n\r\n\(Self.masked)")
    #expect(isWhole && (4...8).contains(turns), "\(turns) turns")
  }

  @Test func `T60: a response that costs little to search is searched in one turn`() throws {
    var played = Conversation(try snapshot { $0.options.redact = .all })
    played.client(get())
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\(Self.body)")
    let isWhole = played.response.hasSuffix(Self.masked)
    #expect(isWhole && !played.log.contains("later"))
  }

  /// Continues the search while the state machine asks for another turn. Returns the number of turns.
  private func searchOn(_ played: inout Conversation) -> Int {
    var turns = 1
    while turns < 100, played.log.filter({ $0 == "later" }).count == turns {
      played.upstream([])
      turns += 1
    }
    return turns
  }
}
