import Gateway
import HTTP1
import Policy
import Testing

/// Hop-by-hop fields are not forwarded (RFC 9110 §7.6.1), and Connection cannot remove fields that bearerd needs (T15).
@Suite struct HopByHopTests {
  @Test(arguments: [
    "Connection: keep-alive", "Connection: close", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: gzip",
    "Trailer: X-Sum", "Upgrade: websocket", "Upgrade: h2c", "Proxy-Authorization: Basic eDp5",
    "Proxy-Authenticate: Basic",
    "Proxy-Authentication-Info: x",
  ])
  func `hop-by-hop fields are removed from requests`(line: String) throws {
    let played = exchange(get(line, "X-Kept: 1"), nil, try snapshot(credential: .pass))
    #expect(head(played.request).dropFirst(2) == ["X-Kept: 1"])
  }

  @Test func `fields that the client names in Connection are removed from requests`() throws {
    let played = exchange(
      get("Connection: X-Hop, \"x\", x_other", "x-hop: 1", "X_Hop: 2", "X-Other: 3", "X-Kept: 4"), nil,
      try snapshot(credential: .none))
    #expect(head(played.request).dropFirst(2) == ["X-Kept: 4"])
  }

  @Test func `a client's TE: trailers is announced to the upstream`() throws {
    let played = exchange(get("TE: gzip, trailers", "Connection: TE"), nil, try snapshot(credential: .none))
    #expect(head(played.request).dropFirst(2) == ["TE: trailers", "Connection: TE"])
  }

  @Test(arguments: [
    "close, Authorization", "X-Api-Key", "Host", "Cookie", "Transfer-Encoding", "content-length", "x_api_key", "Expect",
    "X-Mine", "x_mine", "Private-Token", "Content-Type",
  ])
  func `a request that names a reserved field in Connection is refused`(nominated: String) throws {
    let played = exchange(get("Connection: \(nominated)"), nil, try snapshot(fields: ["authorization", "x-mine"]))
    #expect(status(played.response) == "400")
    #expect(played.response.contains("reserved-field-in-connection"))
    #expect(played.sessions.isEmpty)
  }

  @Test(arguments: [
    "Connection: keep-alive", "Keep-Alive: timeout=5", "Proxy-Connection: close", "TE: trailers", "Trailer: X-Sum",
    "Upgrade: h2c", "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "Proxy-Authorization: x",
  ])
  func `hop-by-hop fields are removed from responses`(line: String) throws {
    let played = exchange(get(), ok(line, "X-Kept: 1"), try snapshot())
    #expect(head(played.response).dropFirst() == ["X-Kept: 1", "Content-Length: 2"])
  }

  @Test func `fields that the upstream names in Connection are removed from responses`() throws {
    let played = exchange(
      get(), ok("Connection: X-Hop, Location", "X-Hop: 1", "Location: /base/y", "X-Kept: 1"), try snapshot())
    #expect(head(played.response).dropFirst() == ["X-Kept: 1", "Content-Length: 2"])
  }
}
