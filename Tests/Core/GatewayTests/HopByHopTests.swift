import Gateway
import HTTP1
import Policy
import Testing

/// What belongs to one connection ends with it (RFC 9110 §7.6.1), both ways, and cannot take away what must stay (T15).
@Suite struct HopByHopTests {
  @Test(arguments: [
    "Connection: keep-alive", "Connection: close", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: gzip",
    "Trailer: X-Sum", "Upgrade: websocket", "Upgrade: h2c", "Proxy-Authorization: Basic eDp5",
    "Proxy-Authenticate: Basic",
    "Proxy-Authentication-Info: x",
  ])
  func theFieldDoesNotGoUp(line: String) throws {
    let played = exchange(get(line, "X-Kept: 1"), nil, try snapshot(credential: .pass))
    #expect(head(played.request).dropFirst(2) == ["X-Kept: 1"])
  }

  @Test func nominatedFieldsEndHere() throws {
    let played = exchange(
      get("Connection: X-Hop, \"x\", x_other", "x-hop: 1", "X_Hop: 2", "X-Other: 3", "X-Kept: 4"), nil,
      try snapshot(credential: .none))
    #expect(head(played.request).dropFirst(2) == ["X-Kept: 4"])
  }

  @Test func trailersAreAnnouncedAnew() throws {
    let played = exchange(get("TE: gzip, trailers", "Connection: TE"), nil, try snapshot(credential: .none))
    #expect(head(played.request).dropFirst(2) == ["TE: trailers", "Connection: TE"])
  }

  @Test(arguments: [
    "close, Authorization", "X-Api-Key", "Host", "Cookie", "Transfer-Encoding", "content-length", "x_api_key", "Expect",
    "X-Mine", "x_mine", "Private-Token", "Content-Type",
  ])
  func aReservedFieldCannotBeNominated(nominated: String) throws {
    let played = exchange(get("Connection: \(nominated)"), nil, try snapshot(fields: ["authorization", "x-mine"]))
    #expect(status(played.answer) == "400")
    #expect(played.answer.contains("reserved-field-in-connection"))
    #expect(played.sessions.isEmpty)
  }

  @Test(arguments: [
    "Connection: keep-alive", "Keep-Alive: timeout=5", "Proxy-Connection: close", "TE: trailers", "Trailer: X-Sum",
    "Upgrade: h2c", "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "Proxy-Authorization: x",
  ])
  func theFieldDoesNotComeBack(line: String) throws {
    let played = exchange(get(), ok(line, "X-Kept: 1"), try snapshot())
    #expect(head(played.answer).dropFirst() == ["X-Kept: 1", "Content-Length: 2"])
  }

  @Test func whatTheUpstreamNominatesEndsHere() throws {
    let played = exchange(
      get(), ok("Connection: X-Hop, Location", "X-Hop: 1", "Location: /base/y", "X-Kept: 1"), try snapshot())
    #expect(head(played.answer).dropFirst() == ["X-Kept: 1", "Content-Length: 2"])
  }
}
