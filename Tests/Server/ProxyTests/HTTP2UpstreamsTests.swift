import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// Upstreams that select HTTP/2. The clients speak HTTP/1.1.
@Suite(.inProcess) struct HTTP2UpstreamsTests {
  private func stage(
    _ http2: HTTP2Options = HTTP2Options(), _ respond: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) throws -> Stage {
    var options = UpstreamServer.Options()
    options.protocols = ["h2", "http/1.1"]
    return try Stage(options: options, handler: UpstreamServer.http2Handler(http2) { respond($0) })
  }

  /// Each worker has connections of its own.
  private func start(_ stage: Stage) throws { try stage.start(stage.configuration(more: "workers: 1")) }

  /// The requests on HTTP/2 connections, in the order of the connections.
  private func requests(_ stage: Stage) -> [HTTP2Request] { stage.upstream.records.flatMap(\.http2.requests) }

  @Test func `a request gets its credential, and later requests use the same connection`() throws {
    let stage = try stage { _ in .response("hello", [(name: "x-a", value: "1")]) }
    try start(stage)
    for _ in 0..<5 {
      let response = try stage.get(fields: "X-Own: 1\r\nAccept: a/b\r\n")
      #expect(response.status == 200 && response.text == "hello" && response.head.contains("x-a: 1\r\n"))
    }
    #expect(stage.upstream.records.count == 1 && stage.upstream.records.first?.applicationProtocol == "h2")
    let seen = requests(stage)
    #expect(seen.count == 5)
    for request in seen {
      #expect(request["authorization"] == "Bearer \(stage.canary)" && request["x-own"] == "1")
      #expect(request.path == "/base/x" && request.authority == "localhost:\(stage.upstream.port)")
      #expect(request["host"] == nil && request["connection"] == nil)
    }
  }

  @Test func `blanks around a value are removed, as with HTTP/1.1`() throws {
    let stage = try stage { _ in .response("hello", [(name: "x-a", value: " \t1 "), (name: "x-b", value: " ")]) }
    try start(stage)
    let response = try stage.get()
    #expect(response.status == 200 && response.text == "hello")
    #expect(response.head.contains("x-a: 1\r\n") && response.head.contains("x-b: \r\n"))
  }

  @Test func `requests at the same time share one connection`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { _ in [.wait(gate)] + .response("late") }
    try start(stage)
    let clients = try (0..<30).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    #expect(eventually { self.requests(stage).count == 30 })
    gate.open()
    for client in clients { #expect(try client.response().body == "late") }
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `requests beyond the upstream's limit use a second connection`() throws {
    let gate = HTTP2Gate()
    var limits = HTTP2Options()
    limits.streams = 4
    let stage = try stage(limits) { $0.path == "/base/first" ? .response("") : [.wait(gate)] + .response("late") }
    try start(stage)
    // The upstream's limit arrives with its first response.
    #expect(try stage.get("/api/first").status == 200)
    let clients = try (0..<10).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    #expect(eventually { self.requests(stage).count == 11 })
    gate.open()
    for client in clients { #expect(try client.response().body == "late") }
    #expect(stage.upstream.records.count == 3)
  }

  @Test func `a burst of requests to an upstream with a low limit succeeds`() throws {
    var limits = HTTP2Options()
    limits.streams = 2
    let stage = try stage(limits) { _ in .response("yes") }
    try start(stage)
    let clients = try (0..<20).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("POST")) }
    for client in clients { #expect(try client.response().body == "yes") }
  }

  @Test(arguments: [true, false])
  func `bodies of several megabytes pass in both directions`(isChunked: Bool) throws {
    let stage = try stage { request in
      [.head(200), .data(request.body), .trailers([(name: "x-count", value: "\(request.body.count)")])]
    }
    try start(stage)
    let body = large(3 << 20)
    let client = try stage.raw()
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
    try client.send(stage.head("POST", fields: "TE: trailers\r\n\(framing)\r\n"))
    let sender = Thread {
      if !isChunked { return try! client.send(body) }
      for start in stride(from: 0, to: body.count, by: 100_000) {
        let piece = body[start..<min(start + 100_000, body.count)]
        try! client.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
      }
      try! client.send("0\r\n\r\n")
    }
    sender.start()
    #expect(try client.head().hasPrefix("HTTP/1.1 200 "))
    var received: [UInt8] = []
    let trailers = try client.chunks { received += $0 }
    #expect(received == body && trailers == ["x-count: \(body.count)"])
    #expect(requests(stage).first?.body == body)
    #expect((requests(stage).first?["content-length"] == nil) == isChunked)
  }

  @Test func `while one body fills the upstream's window for long, requests use another connection`() throws {
    let connections = Counter()
    var options = UpstreamServer.Options()
    options.protocols = ["h2"]
    let stage = try Stage(options: options) { connection in
      let isFirst = connections.add() == 0
      // SETTINGS without entries: the window for all bodies has 65,535 bytes.
      try? connection.write([0, 0, 0, 4, 0, 0, 0, 0, 0])
      var (received, hasResponded) = (0, false)
      while let bytes = try? connection.read(), !bytes.isEmpty {
        received += bytes.count
        // The first connection reads everything, and never opens its window. The second one responds with HEADERS, 200.
        if isFirst || hasResponded || received < 100 { continue }
        try? connection.write([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88])
        hasResponded = true
      }
    }
    try start(stage)
    let upload = try stage.raw()
    try upload.send(stage.head("POST", fields: "Content-Length: 200000\r\n"))
    try upload.send(large(1 << 16))
    try upload.send(large(1 << 16))
    #expect(eventually { connections.add(0) == 1 })
    Thread.sleep(forTimeInterval: 1.5)
    #expect(try stage.get().status == 200)
    #expect(connections.add(0) == 2)
  }

  @Test func `a stream that the upstream resets fails alone`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { request in
      switch request.path {
      case "/base/reset": [.reset(.internalError)]
      case "/base/half": [.head(200), .data(Array("half".utf8)), .reset(.cancel)]
      default: [.wait(gate)] + .response("late")
      }
    }
    try start(stage)
    let other = try stage.raw()
    try other.send(stage.head("GET"))
    #expect(eventually { self.requests(stage).count == 1 })
    #expect(try stage.get("/api/reset").status == 502)
    let half = try stage.raw()
    try half.send(stage.head("GET", "/api/half"))
    _ = try half.head()
    #expect(throws: (any Error).self) { try half.chunks { _ in } }
    gate.open()
    #expect(try other.response().body == "late" && stage.upstream.records.count == 1)
  }

  @Test(arguments: ["GET", "POST"])
  func `a request that the upstream did not process is sent again, once`(method: String) throws {
    let refusals = Counter()
    let stage = try stage { request in
      if request.path == "/base/never" { return [.reset(.refusedStream)] }
      return refusals.add() == 0 ? [.reset(.refusedStream)] : .response("yes")
    }
    try start(stage)
    #expect(try stage.request("\(method) /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").text == "yes")
    #expect(try stage.request("\(method) /api/never HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 502)
    #expect(requests(stage).map(\.path) == ["/base/x", "/base/x", "/base/never", "/base/never"])
  }

  @Test func `a body that is kept for another attempt is sent again after REFUSED_STREAM`() throws {
    let refusals = Counter()
    let stage = try stage { refusals.add() == 0 ? [.reset(.refusedStream)] : .response("\($0.body.count)") }
    try stage.start(stage.configuration(service: "retry: { on: [503] }", more: "workers: 1"))
    let body = String(repeating: "b", count: 60_000)
    let head = "PUT /api/x HTTP/1.1\r\nHost: HOST\r\nContent-Length: \(body.count)\r\n\r\n"
    #expect(try stage.request(head, body: body).text == "60000")
    #expect(requests(stage).map(\.body) == [Array(body.utf8), Array(body.utf8)])
  }

  @Test func `after HTTP_1_1_REQUIRED, an idempotent request and all later ones use HTTP/1.1`() throws {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold"
    func stage() throws -> Stage {
      var options = UpstreamServer.Options()
      options.protocols = ["h2", "http/1.1"]
      return try Stage(
        options: options,
        handler: UpstreamServer.http2Handler(
          http1: { connection in while connection.head() != nil { connection.send(answer) } }
        ) { _ in [.reset(.http11Required)] })
    }
    let first = try stage()
    try start(first)
    for _ in 0..<2 { #expect(try first.get().text == "old") }
    #expect(first.upstream.records.map(\.applicationProtocol) == ["h2", "http/1.1"])
    let second = try stage()
    try start(second)
    // RFC 9113 does not say that the upstream has not processed it.
    #expect(try second.request("POST /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 502)
    #expect(try second.request("POST /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").text == "old")
    #expect(requests(second).count == 1)
  }

  @Test func `the limits of heads apply to HTTP/2 as to HTTP/1.1`() throws {
    // 300 KB, and as many fields as HTTP/1.1 allows.
    let long = (0..<100).map { (name: "x-\($0)", value: String(repeating: "v", count: 3_000)) }
    let many = (0..<1_023).map { (name: "x-\($0)", value: "v") }
    let stage = try stage { request in
      .response("hi", request.path == "/base/long" ? long : many + (request.path == "/base/more" ? [("y", "1")] : []))
    }
    try stage.start(stage.configuration(more: "workers: 1"))
    #expect(try stage.get("/api/many").text == "hi")
    for path in ["/api/long", "/api/more"] {
      let refused = try stage.get(path)
      #expect(refused.status == 502 && refused.text.contains("upstream-malformed"))
    }
    try stage.reload(stage.configuration(more: "workers: 1\nlimits: { head: 512KiB, fields: 1024 }"))
    #expect(try stage.get("/api/long").text == "hi")
    #expect(try stage.get("/api/more").status == 502)
    try stage.reload(stage.configuration(more: "workers: 1\nlimits: { head: 512KiB, fields: 1025 }"))
    #expect(try stage.get("/api/more").text == "hi")
  }

  @Test func `limits.stream_window is the window of a stream`() throws {
    let stage = try stage { _ in .response("hi") }
    try stage.start(stage.configuration(more: "workers: 1\nlimits: { stream_window: 64KiB }"))
    #expect(try stage.get().text == "hi")
    // SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 section 6.5.2). `BackpressureTests` shows its effect.
    let bytes = stage.upstream.records.first?.http2.bytes ?? []
    #expect(bytes.firstRange(of: [0, 4, 0, 1, 0, 0]) != nil)
  }

  @Test(arguments: [true, false])
  func `a silent upstream gets PING frames, and without a response its requests fail`(answers: Bool) throws {
    let gate = HTTP2Gate()
    let stage = try stage { _ in
      // Without the server's thread, nothing answers.
      while !answers, !gate.isOpen { usleep(5_000) }
      return [.wait(gate)] + .response("late")
    }
    defer { gate.open() }
    try stage.start(
      stage.configuration(more: "workers: 1\nlimits: { upstream_ping: 100ms, upstream_ping_timeout: 500ms }"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    if answers {
      #expect(eventually { stage.upstream.records.contains { pings(in: $0.http2.bytes) > 3 } })
      gate.open()
    }
    #expect(try client.response().head.hasPrefix("HTTP/1.1 \(answers ? 200 : 504) "))
  }

  @Test func `after GOAWAY, running requests go on and others use a new connection`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { request in
      switch request.path {
      case "/base/slow": [.wait(gate)] + .response("slow")
      case "/base/leave": .response("leaving") + [.goAway(.noError)]
      default: .response("hello")
      }
    }
    try start(stage)
    let slow = try stage.raw()
    try slow.send(stage.head("GET", "/api/slow"))
    #expect(eventually { self.requests(stage).count == 1 })
    #expect(try stage.get("/api/leave").text == "leaving")
    #expect(try stage.get().text == "hello")
    gate.open()
    #expect(try slow.response().body == "slow")
    #expect(stage.upstream.records.map(\.http2.requests.count) == [2, 1])
  }

  @Test(arguments: ["GET", "POST"])
  func `a request above the last stream of GOAWAY is sent again, and running requests go on`(method: String) throws {
    let gate = HTTP2Gate()
    let attempts = Counter()
    let stage = try stage { request in
      if request.path == "/base/slow" { return [.wait(gate)] + .response("slow") }
      return attempts.add() == 0 ? [.goAway(.noError, last: request.stream - 2)] : .response("again")
    }
    try start(stage)
    let slow = try stage.raw()
    try slow.send(stage.head("GET", "/api/slow"))
    #expect(eventually { self.requests(stage).count == 1 })
    #expect(try stage.request("\(method) /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").text == "again")
    gate.open()
    #expect(try slow.response().body == "slow")
    #expect(stage.upstream.records.map { $0.http2.requests.map(\.path) } == [["/base/slow", "/base/x"], ["/base/x"]])
  }

  @Test func `the request of a client that leaves is reset, and others go on`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { _ in [.wait(gate)] + .response("late") }
    try start(stage)
    let (leaving, staying) = (try stage.raw(), try stage.raw())
    for client in [leaving, staying] { try client.send(stage.head("GET")) }
    #expect(eventually { self.requests(stage).count == 2 })
    leaving.reset()
    #expect(eventually { stage.upstream.records.first?.http2.failures.map(\.code) == [HTTP2Reset.cancel.rawValue] })
    gate.open()
    #expect(try staying.response().body == "late" && stage.upstream.records.count == 1)
  }

  @Test func `after many cancelled requests, others use a new connection and running ones go on`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { $0.path == "/base/fast" ? .response("fast") : [.wait(gate)] + .response("late") }
    try start(stage)
    let staying = try stage.raw()
    try staying.send(stage.head("GET"))
    for count in 1...100 {
      let leaving = try stage.raw()
      try leaving.send(stage.head("GET"))
      #expect(eventually { self.requests(stage).count == count + 1 })
      leaving.reset()
    }
    #expect(try stage.get("/api/fast").text == "fast" && stage.upstream.records.count == 2)
    gate.open()
    #expect(try staying.response().body == "late")
  }

  @Test func `settings and GOAWAY on an idle connection do no harm`() throws {
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    let stage = try stage { request in
      request.path == "/base/leave"
        ? .response("bye") + [.goAway(.noError)] : .response("hello") + [.raw(settings), .raw(settings)]
    }
    try start(stage)
    for _ in 0..<3 { #expect(try stage.get().text == "hello") }
    try stage.reload(stage.configuration(more: "workers: 1\nlog: { level: info }"))
    for _ in 0..<3 {
      #expect(try stage.get("/api/leave").text == "bye")
      let response = try stage.request("POST /api/x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n", body: "hi")
      #expect(response.status == 200)
    }
  }

  /// An upstream that echoes a WebSocket over HTTP/2, and sends "frames" over HTTP/1.1.
  /// - Parameter refused: how many WebSockets get REFUSED_STREAM.
  private func webSocketStage(
    acceptsWebSockets: Bool = true, selected: String? = nil, refused: Int = 0
  ) throws -> Stage {
    let opened = Counter()
    var options = UpstreamServer.Options()
    options.protocols = ["h2", "http/1.1"]
    options.selectedProtocol = selected
    var http2 = HTTP2Options()
    http2.acceptsWebSockets = acceptsWebSockets
    return try Stage(
      options: options,
      handler: UpstreamServer.http2EventHandler(
        http2,
        http1: { connection in
          guard connection.head() != nil else { return }
          connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n")
          connection.send("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nframes")
        }
      ) { request in
        switch request.event {
        case .head where request.method == "CONNECT" && request.path == "/base/no": .response("no", status: 403)
        case .head where request.method == "CONNECT": opened.add() < refused ? [.reset(.refusedStream)] : [.head(200)]
        case .data(let bytes) where request.method == "CONNECT": [.data(bytes)]
        case .end: request.method == "CONNECT" ? [.end] : .response("hello")
        case .head, .data, .failed: []
        }
      })
  }

  private func webSocket(_ stage: Stage, _ path: String = "/api/x") throws -> RawClient {
    let client = try stage.raw()
    try client.send(
      stage.head(
        "GET", path,
        fields: "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
    return client
  }

  @Test func `an upgrade uses an HTTP/1.1 connection if the upstream accepts no WebSockets over HTTP/2`() throws {
    let stage = try webSocketStage(acceptsWebSockets: false)
    try start(stage)
    #expect(try stage.get().text == "hello")
    let client = try webSocket(stage)
    #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
    #expect(try client.exactly(6) == Array("frames".utf8))
    #expect(try stage.get().text == "hello")
    #expect(stage.upstream.records.map(\.applicationProtocol) == ["h2", "http/1.1"])
  }

  @Test func `RFC 8441: a WebSocket uses a stream of the connection that other requests use`() throws {
    let stage = try webSocketStage()
    try start(stage)
    #expect(try stage.get().text == "hello")
    let client = try webSocket(stage)
    let head = try client.head().lowercased()
    #expect(head.hasPrefix("http/1.1 101 ") && head.contains("\r\nconnection: upgrade\r\n"))
    #expect(head.contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"))
    let data = large(1 << 20)
    let sender = Thread {
      try! client.send(data)
      client.shutdownSending()
    }
    sender.start()
    #expect(try client.exactly(data.count) == data)
    #expect(try stage.get().text == "hello")
    // The end of the client's half ends the stream, which ends the other half.
    #expect(client.rest().bytes.isEmpty)
    let seen = requests(stage).first { $0.method == "CONNECT" }
    #expect(seen?[":protocol"] == "websocket" && seen?.path == "/base/x" && seen?["sec-websocket-key"] == nil)
    #expect(seen?["authorization"] == "Bearer \(stage.canary)" && seen?["sec-websocket-version"] == "13")
    #expect(stage.upstream.records.count == 1)
  }

  @Test(arguments: [0, 1, 20])
  func `with HTTP/2 only, the first WebSocket waits for the settings of its connection`(others: Int) throws {
    let stage = try webSocketStage()
    try stage.start(stage.configuration(service: "protocol: http2", more: "workers: 1"))
    let clients = try (0...others).map { _ in try webSocket(stage) }
    for client in clients {
      #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
      try client.send("ping")
      #expect(try client.exactly(4) == Array("ping".utf8))
    }
    #expect(stage.upstream.records.allSatisfy { $0.applicationProtocol == "h2" })
    #expect(requests(stage).isEmpty)
    #expect(try stage.get().text == "hello")
  }

  @Test(arguments: ["limits: { idle_per_identity: 0 }", "limits: {}"])
  func `with HTTP/2 only, a WebSocket needs no kept connection, and is sent again`(limits: String) throws {
    let stage = try webSocketStage(selected: "h2", refused: limits == "limits: {}" ? 1 : 0)
    try stage.start(stage.configuration(service: "protocol: http2", more: "workers: 1\n\(limits)"))
    let client = try webSocket(stage)
    #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
    try client.send("ping")
    #expect(try client.exactly(4) == Array("ping".utf8))
  }

  @Test(arguments: [false, true], [nil, "h2"] as [String?])
  func `with HTTP/2 only, a WebSocket uses HTTP/1.1 if the upstream accepts none over HTTP/2`(
    hasConnection: Bool, selected: String?
  ) throws {
    let stage = try webSocketStage(acceptsWebSockets: false, selected: selected)
    try stage.start(stage.configuration(service: "protocol: http2", more: "workers: 1"))
    if hasConnection { #expect(try stage.get().text == "hello") }
    let client = try webSocket(stage)
    if selected == nil {
      #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
      #expect(try client.exactly(6) == Array("frames".utf8))
      #expect(stage.upstream.records.map(\.applicationProtocol) == ["h2", "http/1.1"])
    } else {
      #expect(try client.head().hasPrefix("HTTP/1.1 502 "))
      #expect(stage.log.wait(for: .request, ["status": 502]))
      let line = stage.log.lines(of: .request, ["status": 502]).first
      #expect(line?["detail"]?.contains("the upstream accepts no WebSocket over HTTP/2") == true)
    }
    #expect(try stage.get().text == "hello")
  }

  @Test func `with HTTP/2 only, a WebSocket continues if the upstream closes before its settings, or sends none`()
    throws
  {
    for closes in [true, false] {
      let connections = Counter()
      var options = UpstreamServer.Options()
      options.protocols = ["h2"]
      let stage = try Stage(options: options) { connection in
        _ = connections.add()
        if !closes { connection.readToEnd() }
      }
      try stage.start(
        stage.configuration(service: "protocol: http2\ntimeouts: { handshake: 500ms }", more: "workers: 1"))
      let client = try webSocket(stage)
      #expect(try client.head().hasPrefix("HTTP/1.1 50"))
      #expect(connections.add(0) >= 1)
    }
  }

  @Test func `RFC 8441: a client that leaves resets the stream of its WebSocket, and others go on`() throws {
    let stage = try webSocketStage()
    try start(stage)
    #expect(try stage.get().text == "hello")
    let (leaving, staying) = (try webSocket(stage), try webSocket(stage))
    for client in [leaving, staying] { _ = try client.head() }
    leaving.reset()
    #expect(eventually { stage.upstream.records.first?.http2.failures.count == 1 })
    try staying.send("ping")
    #expect(try staying.exactly(4) == Array("ping".utf8))
    #expect(try webSocket(stage, "/api/no").response().body == "no")
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `interim responses, HEAD and empty responses are passed on`() throws {
    let stage = try stage { request in
      switch request.path {
      case "/base/hints": [.head(103, [(name: "link", value: "</a>; rel=preload")])] + .response("hi")
      case "/base/none": [.head(204, ends: true)]
      default: [.head(200, [(name: "content-length", value: "7")], ends: true)]
      }
    }
    try start(stage)
    let client = try stage.raw()
    try client.send(stage.head("GET", "/api/hints"))
    #expect(try client.head().hasPrefix("HTTP/1.1 103 "))
    #expect(try client.response().body == "hi")
    #expect(try stage.get("/api/none").status == 204)
    let head = try stage.request("HEAD /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n")
    #expect(head.head.lowercased().contains("content-length: 7"))
    #expect(stage.upstream.records.count == 1)
  }

  @Test(arguments: [
    [(name: "Name", value: "1")], [(name: "a", value: "1\r\nb: 2")], [(name: "connection", value: "close")],
  ])
  func `a malformed head fails its request, and others go on`(fields: [(name: String, value: String)]) throws {
    let stage = try stage { request in
      request.path == "/base/bad" ? [.head(200, fields), .end] : .response("hello")
    }
    try start(stage)
    let bad = try stage.get("/api/bad")
    #expect(bad.status == 502 && bad.text.contains("upstream-malformed"))
    let wanted: [String: LoggedField] = ["path": "/api/bad", "refused": "upstream-malformed", "detail": .present]
    #expect(stage.log.wait(for: .request, wanted))
    #expect(try stage.get().text == "hello")
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `a violation of HTTP/2 fails the requests of its connection in words`() throws {
    let stage = try stage { request in
      request.path == "/base/bad" ? [.raw([0, 0, 1, 6, 0, 0, 0, 0, 0, 0])] : .response("hello")
    }
    try start(stage)
    #expect(try stage.get("/api/bad").status == 502)
    #expect(stage.log.wait(for: .request, ["refused": "upstream-malformed", "detail": .naming("FRAME_SIZE_ERROR")]))
    #expect(try stage.get().text == "hello")
    #expect(stage.upstream.records.count == 2)
  }
}

private func large(_ count: Int) -> [UInt8] {
  stride(from: 0, to: count, by: 32_768).flatMap { Pattern.bytes(at: $0, count: 32_768) }
}

/// Number of PING frames in the bytes of a client (RFC 9113 section 6.7).
private func pings(in bytes: [UInt8]) -> Int {
  var rest = bytes.dropFirst("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8.count)
  var count = 0
  while rest.count >= 9 {
    let head = Array(rest.prefix(9))
    if head[3] == 6, head[4] == 0 { count += 1 }
    rest = rest.dropFirst(9 + Int(head[0]) << 16 + Int(head[1]) << 8 + Int(head[2]))
  }
  return count
}
