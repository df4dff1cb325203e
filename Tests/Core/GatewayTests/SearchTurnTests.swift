import Gateway
import HTTP1
import Policy
import Testing

/// An answer whose search is expensive is searched over several turns of the loop (T60). Here each byte costs as much as one
/// that has to be looked at alone.
@Suite struct SearchTurnTests {
  private static let body = String(repeating: "a^b~", count: 25_000)
  private static let masked = String(repeating: "a*b~", count: 25_000)
  private static let chunks =
    (0..<6_250).map { _ in "10\r\na^b~a^b~a^b~a^b~\r\n" }.joined() + "0\r\n\r\n"

  @Test(arguments: [
    "Content-Length: 100000", "Connection: close", "Transfer-Encoding: chunked", "Content-Encoding: gzip",
  ])
  func `T60: an answer that costs much is searched bit by bit, and arrives whole`(field: String) throws {
    let isCoded = field.hasSuffix("gzip")
    var played = Conversation(try snapshot { $0.redact = isCoded ? .errors : .all })
    played.redaction?.stepsPerByte = 1
    played.client(get("Connection: close"))
    let body = field.hasSuffix("chunked") ? Self.chunks : Self.body
    played.upstream("HTTP/1.1 \(isCoded ? 500 : 200) Status\r\n\(field)\r\n\r\n\(body)")
    let turns = searchOn(&played)
    if played.phase == .exchanging { played.upstreamEnded() }
    let parts = played.answer.split(separator: "\r\n\r\n", maxSplits: 1)
    let shown = String(parts.last ?? "")
    let isWhole = (played.answer.contains("chunked") ? unchunked(shown) : shown) == Self.masked
    #expect(isWhole)
    // 100,000 bytes, of which a turn has 16,384 and at most one piece more.
    #expect((4...8).contains(turns), "\(turns) turns")
  }

  @Test func `T60: what follows an upgrade is searched bit by bit, too`() throws {
    var played = Conversation(try snapshot { $0.redact = .all })
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
    let isWhole = played.answer.hasSuffix("\r\n\r\n\(Self.masked)")
    #expect(isWhole && (4...8).contains(turns), "\(turns) turns")
  }

  @Test func `T60: an answer that costs nothing is searched at once`() throws {
    var played = Conversation(try snapshot { $0.redact = .all })
    played.client(get())
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\(Self.body)")
    let isWhole = played.answer.hasSuffix(Self.masked)
    #expect(isWhole && !played.log.contains("later"))
  }

  /// Offers what is left for as long as that is asked for. Returns the turns of the loop that it took.
  private func searchOn(_ played: inout Conversation) -> Int {
    var turns = 1
    while turns < 100, played.log.filter({ $0 == "later" }).count == turns {
      played.upstream([])
      turns += 1
    }
    return turns
  }
}
