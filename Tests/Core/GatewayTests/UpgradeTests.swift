import Gateway
import HTTP1
import Policy
import Testing

/// Returns a request for a WebSocket.
private func asking(_ fields: String..., target: String = "/api/x", version: String = "1.1") -> String {
  "GET \(target) HTTP/\(version)\r\nHost: localhost:7070\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    + "Sec-WebSocket-Key: dGhl\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
}

private func granting(_ fields: String..., version: String = "1.1") -> String {
  "HTTP/\(version) 101 Switching Protocols\r\n"
    + (fields.isEmpty ? ["Connection: Upgrade", "Upgrade: websocket"] : fields).map { $0 + "\r\n" }.joined() + "\r\n"
}

/// Returns an upgraded connection that has transferred "up" and "down".
private func upgraded(_ snapshot: Snapshot) -> Conversation {
  var played = exchange(asking(), granting() + "down", snapshot)
  played.client("up")
  #expect(played.phase == .upgraded && played.request.hasSuffix("\r\n\r\nup"))
  return played
}

@Suite struct UpgradeRequestTests {
  @Test func `an upgrade request is sent with bearerd's own Connection and Upgrade fields`() throws {
    let played = exchange(asking("Sec-WebSocket-Version: 13"), nil, try snapshot())
    #expect(
      head(played.request) == [
        "GET /base/x HTTP/1.1", "Host: up.test", "Sec-WebSocket-Key: dGhl", "Sec-WebSocket-Version: 13",
        "Connection: upgrade", "Upgrade: websocket", "<credential>",
      ])
  }

  @Test(arguments: [
    (["Connection: keep-alive, UPGRADE", "Upgrade: WebSocket"], "websocket"),
    (["Upgrade: , h2c,websocket", "Connection: upgrade"], "websocket"),
    (["Upgrade: h2c", "Connection: HTTP2-Settings", "Connection: upgrade", "Upgrade: websocket"], "websocket"),
    (["Connection: upgrade", "Upgrade: spdy/3.1, websocket"], "SPDY/3.1"),
    (["Connection: upgrade, TE", "Upgrade: tcp", "TE: trailers"], "tcp"),
  ])
  func `the first protocol that the service allows is requested`(fields: [String], wanted: String) throws {
    let listed = try ["websocket", "SPDY/3.1", "tcp"].map(UpgradeProtocol.init(parsing:))
    let snapshot = try snapshot { $0.upgrades = listed }
    let played = exchange(get(fields.joined(separator: "\r\n")), nil, snapshot)
    #expect(head(played.request).dropFirst(2) == ["Connection: upgrade", "Upgrade: \(wanted)", "<credential>"])
  }

  @Test(arguments: [
    ["Upgrade: websocket"], ["Connection: keep-alive", "Upgrade: websocket"], ["Connection: upgrade"],
    ["Connection: upgrade", "Upgrade:"], ["Connection: upgrade", "Upgrade: \"websocket\""],
    ["Connection: upgrade", "Upgrade: websocket/13"], ["Connection: upgrade", "Upgrade: websockets, web"],
    ["Connection: upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
    ["Connection: upgrade", "Upgrade: HTTP/2.0, TLS/1.0, SPDY/3.1"], ["Connection: x_upgrade", "Upgrade: websocket"],
  ])
  func `requests for other protocols are forwarded without an upgrade`(fields: [String]) throws {
    var played = exchange(get(fields.joined(separator: "\r\n")), nil, try snapshot())
    #expect(head(played.request) == ["GET /base/x HTTP/1.1", "Host: up.test", "<credential>"])
    played.upstream(ok())
    #expect(played.response == ok() && played.phase == .awaitingHead)
  }

  private static let kubernetes = "base64url.bearer.authorization.k8s.io.dG9r"

  @Test(arguments: [
    ("\(kubernetes), v5.channel.k8s.io", "v5.channel.k8s.io"),
    ("realtime ,openai-insecure-api-key.sk-x,\topenai-beta.realtime-v1", "realtime, openai-beta.realtime-v1"),
    ("v1.kernel.websocket.jupyter.org, V1.Token.WebSocket.Jupyter.org.t", "v1.kernel.websocket.jupyter.org"),
    ("OpenAI-Insecure-Api-Key.x", nil), ("a , b", "a , b"), ("openai-organization.o, a", "openai-organization.o, a"),
    ("openai-insecure-api-keys.x", "openai-insecure-api-keys.x"), (",", ","),
    ("token, sk-x", nil), ("a, Bearer ,\tey.x.y, b", "a, b"), ("bearer", "bearer"), ("a, token", "a, token"),
    ("token, token, a", "a"), ("tokens, a", "tokens, a"),
    ("aws-appsync-event-ws, header-eyJob3N0IjoieCJ9", "aws-appsync-event-ws"),
    ("\"x, openai-insecure-api-key.k, y", "y"), ("\"token\", k", nil),
    ("x openai-insecure-api-key.k, SPDY/3.1", "SPDY/3.1"),
  ])
  func `T14: subprotocols that carry a credential are removed`(offered: String, sent: String?) throws {
    for name in ["Sec-WebSocket-Protocol", "sec_websocket.protocol"] {
      for request in [asking("\(name): \(offered)", "X-Kept: 1"), get("\(name): \(offered)", "X-Kept: 1")] {
        let played = exchange(request, ok(), try snapshot())
        #expect(value(name, played.request) == sent && value("X-Kept", played.request) == "1", "\(played.request)")
        let removed = played.records.last?.removed.description(under: nil)
        #expect(removed == (sent == offered ? "" : "sec-websocket-protocol"))
      }
    }
  }

  @Test(arguments: [
    (["token", "key"], []), (["chat, token", "key, v2"], ["chat", "v2"]), (["bearer,", ",", "key"], [","]),
    (["a, token", "b, c"], ["a", "c"]), (["token" + String(repeating: ",", count: 40), "key"], []),
    (["a", "token"], ["a", "token"]),
  ])
  func `T14: several subprotocol fields are read as one list`(lines: [String], sent: [String]) throws {
    let name = "Sec-WebSocket-Protocol: "
    let played = exchange(asking(lines.map { name + $0 }.joined(separator: "\r\n")), nil, try snapshot())
    let found = head(played.request).filter { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
    #expect(found == sent, "\(played.request)")
  }

  @Test func `T14: subprotocols with a credential are forwarded if the client's own credential is`() throws {
    let line = "Sec-WebSocket-Protocol: \(Self.kubernetes), a"
    for edited in [
      try snapshot(credential: .pass), try snapshot { $0.headers.allowClientHeaders = ["sec-websocket-protocol"] },
    ] {
      var played = exchange(asking(line), nil, edited)
      #expect(played.request.contains(line))
      played.upstream(
        granting("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Protocol: \(Self.kubernetes)"))
      #expect(played.phase == .upgraded)
    }
    let none = exchange(asking(line), nil, try snapshot(credential: .none))
    #expect(value("Sec-WebSocket-Protocol", none.request) == "a")
  }

  @Test func `an upgrade request of an HTTP/1.0 client is ignored`() throws {
    let played = exchange(asking(version: "1.0"), nil, try snapshot())
    #expect(!played.request.lowercased().contains("upgrade"))
  }

  @Test func `a service can forbid all upgrades`() throws {
    let played = exchange(asking(), nil, try snapshot { $0.upgrades = [] })
    #expect(!played.request.lowercased().contains("upgrade"))
  }

  @Test(arguments: [
    ("Origin: https://evil.test", "origin-not-allowed"), ("Sec-Fetch-Site: cross-site", "cross-site"),
    ("X: y", "denied"), ("Connection: Authorization", "reserved-field-in-connection"),
  ])
  func `an upgrade request has to pass all checks`(field: String, code: String) throws {
    let denies = Rule(
      pattern: try URLPattern(parsing: "/**"), methods: .every, action: .deny, headers: HeaderPolicy(),
      description: nil, line: 1)
    let played = exchange(asking(field), nil, try snapshot { if code == "denied" { $0.rules = [denies] } })
    #expect(played.response.contains("urn:bearerd:error:\(code)\"") && played.sessions.isEmpty)
  }

  @Test func `a service without a credential sends an upgrade request without a credential`() throws {
    let played = exchange(asking("Authorization: Bearer mine"), nil, try snapshot(credential: .none))
    #expect(head(played.request).suffix(2) == ["Connection: upgrade", "Upgrade: websocket"])
    #expect(!played.request.contains("mine"))
  }

  @Test func `an upgrade request on a stale upstream connection is retried`() throws {
    var played = Conversation(try snapshot())
    played.isReused = true
    played.client(asking())
    played.upstreamEnded()
    #expect(played.sessions.count == 2 && played.sessions[0] == played.sessions[1])
    played.upstream(granting())
    #expect(played.phase == .upgraded)
  }
}

/// A response may switch only to the requested protocol (T26).
@Suite struct UpgradeResponseTests {
  @Test func `an upgrade response has bearerd's own Connection and Upgrade fields`() throws {
    let played = exchange(
      asking(),
      granting(
        "Upgrade: WebSocket", "Connection: keep-alive, X-Hop, Upgrade", "X-Hop: 1", "Keep-Alive: timeout=5",
        "Set-Cookie: a=b", "Content-Length: 0", "Sec-WebSocket-Accept: s3pPLM", "Alt-Svc: h2"), try snapshot())
    #expect(
      played.response
        == "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: s3pPLM\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    )
    #expect(played.phase == .upgraded && played.log == ["open"] && played.records.isEmpty)
  }

  @Test(arguments: [
    get(), get("Connection: upgrade", "Upgrade: h2c"), get("Upgrade: websocket"), get("Content-Length: 0"),
  ])
  func `an unrequested upgrade is refused`(request: String) throws {
    refused(exchange(request, granting() + "x", try snapshot()))
  }

  @Test(arguments: [
    ["Connection: upgrade", "Upgrade: h2c"], ["Connection: upgrade", "Upgrade: websocket, h2c"],
    ["Connection: upgrade", "Upgrade: websocket", "Upgrade: websocket"], ["Connection: upgrade"],
    ["Upgrade: websocket"], ["Connection: close", "Upgrade: websocket"], ["Connection: upgrade", "Upgrade:"],
    ["Connection: upgrade", "Upgrade: websocket/13"], ["X: y"],
  ])
  func `an upgrade to another protocol is refused`(fields: [String]) throws {
    refused(exchange(asking(), granting(fields.joined(separator: "\r\n")) + "x", try snapshot()))
  }

  private static let offer = "Sec-WebSocket-Protocol: chat, openai-insecure-api-key.sk-x"

  @Test(arguments: [
    (["chat"], ""), ([""], ""), ([], ""), (["openai-insecure-api-key.sk-x"], "openai-insecure-api-key.sk-x"),
    (["superchat"], "superchat"), (["Chat"], "Chat"), (["chat, other"], "other"), (["chat", "other"], "other"),
    (["chat", "chat"], "two"),
  ])
  func `T14: the upstream may select only a subprotocol that was offered`(picked: [String], fault: String) throws {
    let fields = ["Connection: Upgrade", "Upgrade: websocket"] + picked.map { "Sec-WebSocket-Protocol: \($0)" }
    let played = exchange(asking(Self.offer), granting(fields.joined(separator: "\r\n")), try snapshot())
    if !fault.isEmpty { return refused(played) }
    #expect(played.phase == .upgraded)
  }

  @Test func `an HTTP/1.0 response cannot upgrade the connection`() throws {
    refused(exchange(asking(), granting(version: "1.0") + "x", try snapshot()))
  }

  private func refused(_ played: Conversation) {
    #expect(played.response.contains("urn:bearerd:error:unrequested-upgrade\"") && status(played.response) == "502")
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
  }

  @Test func `an upgrade before the end of the request is refused`() throws {
    let post = get("Connection: upgrade", "Upgrade: websocket", "Content-Length: 4", method: "POST")
    let early = exchange(post + "ab", granting(), try snapshot())
    #expect(early.response.contains("unrequested-upgrade") && early.phase == .lingering)
    var played = exchange(post + "abcd", granting(), try snapshot())
    played.client("ef")
    #expect(played.phase == .upgraded && played.request.hasSuffix("\r\n\r\nabcdef"))
  }

  /// The upstream connection is not reused: a server behind the upstream could have switched.
  @Test func `after a response without an upgrade, only the client's connection is reused`() throws {
    var played = exchange(asking(), "HTTP/1.1 103 E\r\n\r\n" + ok(status: "426 Upgrade Required"), try snapshot())
    #expect(
      status(String(played.response.dropFirst("HTTP/1.1 103 E\r\n\r\n".count))) == "426"
        && played.log == ["open", "drop", "record"])
    played.client(get())
    #expect(played.phase == .exchanging && !played.request.lowercased().contains("upgrade"))
  }

  /// A client may send early. Its bytes belong to the new protocol, or are the next request.
  @Test(arguments: [granting(), ok()])
  func `client bytes before the upgrade response are buffered`(response: String) throws {
    var played = exchange(asking() + get(target: "/api/second"), nil, try snapshot())
    #expect(played.pausesReadingWhenBuffered && played.buffered == Array(get(target: "/api/second").utf8))
    played.upstream(response)
    #expect(played.buffered.isEmpty && !played.pausesReadingWhenBuffered || played.phase == .exchanging)
    let isUpgraded = played.phase == .upgraded
    #expect(played.request.hasSuffix("\r\n\r\n" + get(target: "/api/second")) == isUpgraded)
    #expect((played.records.count == 1) == !isUpgraded)
  }
}

@Suite struct UpgradedConnectionTests {
  @Test func `bytes pass in both directions and are counted`() throws {
    var played = upgraded(try snapshot())
    played.upstream("HTTP/1.1 200 OK\r\n\r\n")
    played.client("GET / HTTP/1.1\r\n\r\n")
    #expect(played.request.hasSuffix("\r\n\r\nupGET / HTTP/1.1\r\n\r\n"))
    #expect(played.response.hasSuffix("\r\n\r\ndownHTTP/1.1 200 OK\r\n\r\n"))
    #expect(played.log == ["open"])
    played.apply { $0.clientClosed(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "close"])
    let record = try #require(played.records.last)
    #expect(record.status == 101 && record.bytesUp == 20 && record.bytesDown == 23 && !record.isAborted)
  }

  @Test func `an upgraded connection after a chunked response has no chunks`() throws {
    var played = exchange(
      get(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", try snapshot())
    played.client(asking())
    played.upstream(granting())
    #expect(played.phase == .upgraded)
    played.upstream("down")
    #expect(played.response.hasSuffix("\r\n\r\ndown"))
  }

  @Test func `the client may half-close first`() throws {
    var played = upgraded(try snapshot())
    played.apply { $0.clientEnded(output: &$1) }
    #expect(played.log == ["open", "shutdown upstream"])
    played.upstream(" and out")
    #expect(played.response.hasSuffix("down and out"))
    played.upstreamEnded()
    #expect(played.log == ["open", "shutdown upstream", "drop", "record", "close"])
    #expect(played.records.last?.isAborted == false)
  }

  @Test func `the upstream may half-close first`() throws {
    var played = upgraded(try snapshot())
    played.upstreamEnded()
    #expect(played.log == ["open", "shutdown client"])
    played.client(" and out")
    #expect(played.request.hasSuffix("up and out"))
    played.apply { $0.clientEnded(output: &$1) }
    #expect(played.log == ["open", "shutdown client", "drop", "record", "close"])
    #expect(played.records.last?.isAborted == false)
  }

  @Test func `an upgrade succeeds if the client half-closed before the response`() throws {
    var played = exchange(asking(), nil, try snapshot())
    played.apply { $0.clientEnded(output: &$1) }
    played.upstream(granting() + "down")
    #expect(played.log == ["open", "shutdown upstream"] && played.response.hasSuffix("\r\n\r\ndown"))
  }

  /// The other side can distinguish an abort from a regular end.
  @Test(arguments: 0..<7)
  func `an abort on one side resets the other side`(index: Int) throws {
    let events: [(String, (inout RequestMachine, inout Output) -> Void)] = [
      ("close", { $0.clientGone(output: &$1) }),
      ("reset", { $0.upstreamEnded(isClean: false, redaction: nil, output: &$1) }),
      ("reset", { $0.upstreamFailed(.upstreamClosed, output: &$1) }), ("reset", { $0.revoked(output: &$1) }),
      ("reset", { $0.deadlinePassed(output: &$1) }), ("reset", { $0.loggedOut(output: &$1) }),
      ("reset", { $0.credentialReplaced(output: &$1) }),
    ]
    for halves in 0..<3 {
      var played = upgraded(try snapshot())
      if halves == 1 { played.apply { $0.clientEnded(output: &$1) } }
      if halves == 2 { played.upstreamEnded() }
      played.apply(events[index].1)
      #expect(Set(played.log.suffix(3)) == ["reset upstream", "record", events[index].0] && played.phase == .closed)
      #expect(played.records.last?.isAborted == true && played.records.last?.status == 101)
    }
  }

  @Test func `an upgraded connection has an idle timeout only, and the body's timeout once half-closed`() throws {
    var played = upgraded(try snapshot())
    #expect(played.deadline == .upgraded)
    played.apply { $0.totalDeadlinePassed(output: &$1) }
    #expect(played.phase == .upgraded)
    played.upstreamEnded()
    #expect(played.deadline == .silence)
  }

  @Test func `draining waits for upgraded connections`() throws {
    var played = upgraded(try snapshot())
    played.apply { machine, _ in machine.drain() }
    played.client("still")
    #expect(played.phase == .upgraded && played.request.hasSuffix("upstill"))
  }

  @Test func `a reload checks whether an upgraded connection is still allowed`() throws {
    var played = upgraded(try snapshot())
    let new = try snapshot(upstream: "https://new.test/", generation: 2)
    played.apply { $0.configurationChanged(new, output: &$1) }
    #expect(played.phase == .upgraded && !played.isStillAllowed(by: new))
    #expect(played.isStillAllowed(by: try snapshot(generation: 2)))
    let more = try UpgradeProtocol(parsing: "tcp")
    #expect(played.isStillAllowed(by: try snapshot { $0.upgrades.insert(more, at: 0) }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.upgrades = [more] }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.rules = [] }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.callers = Callers(uids: [1]) }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.trust.caFile = "/ca" }))
    #expect(!played.isStillAllowed(by: try snapshot(credential: .none)))
    // The same server, reached by another host.
    let dialed = try snapshot(upstream: "https://lb.test/base/") { $0.upstream.setServerName(.name("up.test")) }
    #expect(!played.isStillAllowed(by: dialed))
  }
}
