import Foundation
import HTTP2
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// Clients that speak HTTP/2 by prior knowledge.
@Suite(.inProcess) struct HTTP2ClientsTests {
  private func stage(
    _ more: String = "", options: UpstreamServer.Options = .init(), service: String = "",
    _ respond: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) throws -> Stage {
    var options = options
    options.protocols = ["h2", "http/1.1"]
    let stage = try Stage(options: options, handler: Wire.handler { $0.event == .end ? respond($0) : [] })
    try stage.start(stage.configuration(service: service, more: "workers: 1\n\(more)"))
    return stage
  }

  // MARK: the connection

  @Test(arguments: [1, 3, 14, 23]) func `the preface may arrive in two parts`(count: Int) throws {
    let stage = try stage { _ in .response("hello") }
    var bytes: [UInt8] = []
    let session = try HTTP2Session(.client)
    try session.send { bytes += $0 }
    let socket = try stage.raw()
    try socket.send(Array(bytes[..<count]))
    #expect(socket.readWithoutWaiting().isEmpty)
    usleep(20_000)
    try socket.send(Array(bytes[count...]))
    // The SETTINGS frame of the server.
    #expect(try socket.exactly(9)[3] == 4)
  }

  @Test(arguments: ["POST", "PUT", "PRI", "PROPFIND"])
  func `a method that begins like the preface is a method of HTTP/1`(method: String) throws {
    let stage = try stage { .response("\($0.method)") }
    let socket = try stage.raw()
    let head = try stage.head(method, fields: "Content-Length: 0\r\n")
    for byte in head.utf8.prefix(9) {
      try socket.send([byte])
      usleep(1_000)
    }
    try socket.send(String(head.dropFirst(9)))
    #expect(try socket.response().body == method)
  }

  @Test func `a preface that goes wrong is a request of HTTP/1`() throws {
    let stage = try stage { _ in .response("hello") }
    let socket = try stage.raw()
    try socket.send("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
    #expect(try socket.head().hasPrefix("HTTP/1.1 505 "))
  }

  @Test func `a Unix socket accepts HTTP/2`() throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/in.sock"
    try stage.start(stage.configuration(listener: "address: unix:\(path)"))
    let client = try HTTP2Client(RawClient(unix: path), authority: "localhost")
    for _ in 0..<3 { #expect(try client.response(client.begin("GET", endsStream: true)).text == "hello") }
    #expect(stage.log.wait(for: .request, ["uid": "\(getuid())", "status": 200], count: 3))
    stage.assertCanary(times: 3)
  }

  @Test func `Upgrade: h2c is ignored`() throws {
    let stage = try stage { _ in .response("hello") }
    let fields = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    #expect(try stage.get(fields: fields).status != 101)
  }

  @Test func `a violation of HTTP/2 ends the connection with its code, and other connections go on`() throws {
    let stage = try stage { _ in .response("hello") }
    let (bad, good) = (try stage.http2(), try stage.http2())
    #expect(try bad.response(bad.begin("GET", endsStream: true)).status == 200)
    // A PING frame with a wrong length.
    try bad.socket.send([0, 0, 1, 6, 0, 0, 0, 0, 0, 0])
    try bad.waitForEnd()
    #expect(bad.goAway?.code == .frameSizeError)
    let wanted: [String: LoggedField] = ["uid": "\(getuid())", "code": "FRAME_SIZE_ERROR", "detail": .present]
    #expect(stage.log.wait(for: .http2Ended, wanted) && stage.log.lines(of: .http2Ended).count == 1)
    #expect(try good.response(good.begin("GET", endsStream: true)).status == 200)
  }

  @Test func `a PING is answered while requests are in progress`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { _ in [.wait(gate)] + .response("late") }
    let client = try stage.http2()
    let stream = try client.begin("GET", endsStream: true)
    try client.ping()
    while client.pongs == 0 { #expect(try client.receive()) }
    gate.open()
    #expect(try client.response(stream).text == "late")
  }

  // MARK: streams

  @Test func `requests at the same time share both connections`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { [.wait(gate)] + .response("got \($0.path)") }
    let client = try stage.http2()
    let streams = try (0..<100).map { try client.begin("GET", "/api/\($0)", endsStream: true) }
    #expect(eventually { stage.upstream.records.flatMap(\.http2.requests).count == 100 })
    gate.open()
    for (number, stream) in streams.enumerated() {
      #expect(try client.response(stream).text == "got /base/\(number)")
    }
    stage.assertCanary(times: 100)
  }

  @Test func `streams beyond limits.streams are refused`() throws {
    let gate = HTTP2Gate()
    let stage = try stage("limits: { streams: 4 }") { _ in [.wait(gate)] + .response("late") }
    let client = try stage.http2()
    // Before the limit has arrived. The client accepts it when it reads.
    let streams = try (0..<6).map { try client.begin("GET", "/api/\($0)", endsStream: true) }
    for stream in streams[4...] {
      #expect(try client.wait(for: stream) { $0.isComplete }.failure == .refusedStream)
    }
    #expect(eventually { stage.upstream.records.flatMap(\.http2.requests).count == 4 })
    while client.session.maximumStreams != 4 { #expect(try client.receive()) }
    gate.open()
    for stream in streams[..<4] { #expect(try client.response(stream).text == "late") }
    #expect(try client.response(client.begin("GET", endsStream: true)).text == "late")
    stage.assertCanary(times: 5)
  }

  @Test func `T6: a gRPC call without a valid client token gets UNAUTHENTICATED, and nothing is sent`() throws {
    let stage = try Stage.withClients()
    let call: HTTP2Fields = [("content-type", "application/grpc"), ("te", "trailers")]
    for fields in [call, call + [("authorization", "Bearer \(ClientTokens.Pair().text)")]] {
      let client = try stage.http2()
      let response = try client.response(client.begin("POST", "/api/a.B/C", fields: fields, endsStream: true))
      #expect(response.status == 200 && response["grpc-status"] == "16" && response.hasEndedWithHead)
    }
    #expect(stage.log.wait(for: .request, ["status": 403, "refused": "client-unknown"], count: 2))
    #expect(stage.upstream.records.isEmpty)
  }

  @Test func `requests_per_user limits the streams of a connection`() throws {
    let gate = HTTP2Gate()
    let stage = try stage("limits: { requests_per_user: 3 }") { _ in [.wait(gate)] + .response("late") }
    let client = try stage.http2()
    let streams = try (0..<3).map { _ in try client.begin("GET", endsStream: true) }
    #expect(eventually { stage.upstream.records.flatMap(\.http2.requests).count == 3 })
    #expect(try client.response(client.begin("GET", endsStream: true)).status == 429)
    gate.open()
    for stream in streams { #expect(try client.response(stream).text == "late") }
    #expect(try client.response(client.begin("GET", endsStream: true)).text == "late")
  }

  @Test(arguments: ["h2", "http/1.1"])
  func `a response that is only a head is one frame`(version: String) throws {
    var options = UpstreamServer.Options()
    options.selectedProtocol = version
    let stage = try stage(options: options) { request in
      request.path == "/base/none"
        ? [.head(204, ends: true)] : [.head(200, [(name: "grpc-status", value: "7")], ends: true)]
    }
    let client = try stage.http2()
    #expect(try client.response(client.begin("GET", "/api/none", endsStream: true)).hasEndedWithHead)
    if version == "h2" {
      let response = try client.response(client.begin("POST", endsStream: true))
      #expect(response.hasEndedWithHead && response["grpc-status"] == "7")
    }
    #expect(try client.response(client.begin("HEAD", endsStream: true)).hasEndedWithHead)
  }

  @Test func `an upload waits for its upstream, and other streams go on`() throws {
    let gate = HTTP2Gate()
    let stage = try Stage { connection in
      let slow = try? connection.readRequest { head in
        if String(decoding: head, as: UTF8.self).contains("/slow") { while !gate.isOpen { usleep(1_000) } }
      }
      guard let slow else { return }
      connection.respond("got \(slow.body.count)")
    }
    try stage.start(stage.configuration(more: "workers: 1"))
    let client = try stage.http2()
    let stream = try client.begin("POST", "/api/slow")
    let body = large(16 << 20)
    try client.write(body, on: stream)
    try client.end(stream)
    // Until bearerd and the kernel take no more.
    var (left, quiet) = (client.session.queuedBytes(of: stream), 0)
    while quiet < 20 {
      #expect(try client.response(client.begin("GET", endsStream: true)).text == "got 0")
      quiet = client.session.queuedBytes(of: stream) == left ? quiet + 1 : 0
      left = client.session.queuedBytes(of: stream)
    }
    #expect(left > 4 << 20)
    gate.open()
    #expect(try client.response(stream).text == "got \(body.count)")
  }

  @Test func `many streams that are reset end the connection`() throws {
    let gate = HTTP2Gate()
    defer { gate.open() }
    let stage = try stage { _ in [.wait(gate)] + .response("late") }
    let client = try stage.http2()
    for _ in 0..<2_000 { try? client.reset(client.begin("GET", endsStream: true)) }
    try? client.waitForEnd()
    #expect(client.goAway?.code == .enhanceYourCalm)
    #expect(stage.log.wait(for: .http2Ended, ["code": "ENHANCE_YOUR_CALM", "detail": .naming("RST_STREAM")]))
    let other = try stage.http2()
    #expect(try other.response(other.begin("GET", "/elsewhere", endsStream: true)).status == 404)
  }

  @Test func `a request that HTTP/2 forbids fails alone`() throws {
    let stage = try stage { _ in .response("hello") }
    let client = try stage.http2()
    // nghttp2 resets some of these streams, and bearerd responds to the others.
    let rows: [(name: String, value: String, reason: String)] = [
      ("host", "evil.example", "hostMismatch"), (":path", "x", "badTarget"), (":scheme", "ftp", "badTarget"),
      (":unknown", "x", "badPseudoHeader"), ("Upper", "1", "badFieldName"), ("x y", "1", "badFieldName"),
      ("x-nul", "a\0b", "badFieldValue"), ("connection", "close", "connectionField"), ("te", "gzip", "connectionField"),
      ("transfer-encoding", "chunked", "connectionField"), ("content-length", "x", "badContentLength"),
      ("content-length", "5", "badContentLength"),
    ]
    for (count, row) in rows.enumerated() {
      let stream = try client.begin("GET", fields: [(name: row.name, value: row.value)], endsStream: true)
      let response = try client.wait(for: stream) { $0.isComplete }
      #expect(response.status == 400 || response.failure == .protocolError, "\(row): \(response)")
      #expect(stage.log.wait(for: .request, ["status": 400, "http": 2], count: count + 1), "\(row)")
      #expect(stage.log.lines(of: .request).last?["reason"] == row.reason, "\(row)")
    }
    #expect(try client.response(client.begin("GET", endsStream: true)).text == "hello")
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `a WebSocket through extended CONNECT carries bytes in both directions`() throws {
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols()
      let said = (try? connection.readRequest())?.text ?? ""
      if let end = try? connection.read(), end.isEmpty { connection.send("heard \(said)") }
    }
    try stage.start()
    let client = try stage.http2()
    let stream = try client.begin(
      "CONNECT", fields: [(name: ":protocol", value: "websocket"), (name: "sec-websocket-version", value: "13")])
    try client.wait(for: stream) { $0.status != nil }
    #expect(client[stream].status == 200)
    try client.write(Array("all\r\n\r\n".utf8), on: stream)
    try client.end(stream)
    let response = try client.response(stream)
    #expect(response.text == "heard all\r\n\r\n" && response["sec-websocket-accept"] == nil)
    #expect(stage.log.wait(for: .request, ["up": 7, "down": 13]))
    stage.assertCanary(times: 1)
  }

  @Test func `a scrape works with several workers`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(more: "workers: 2\nmetrics: { address: localhost:0, allow_users: [\(getuid())] }"))
    let client = try stage.http2("metrics")
    for _ in 0..<2 {
      let response = try client.response(client.begin("GET", "/metrics", endsStream: true))
      #expect(response.status == 200 && response.text.contains("bearerd_"))
    }
  }

  // MARK: the end

  @Test func `the removal of a listener ends its connections after their streams`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { _ in [.head(200), .wait(gate), .data(Array("late".utf8)), .end] }
    let more = "workers: 1"
    let (busy, idle) = (try stage.http2(), try stage.http2())
    let stream = try busy.begin("GET", endsStream: true)
    try busy.wait(for: stream) { $0.status != nil }
    while idle.session.maximumStreams != 1_000 { _ = try idle.receive() }
    try stage.reload(stage.configuration(listener: "address: unix:\(stage.scratch.path)/new.sock", more: more))
    try idle.waitForEnd()
    #expect(idle.goAway?.code == .noError)
    gate.open()
    #expect(try busy.response(stream).text == "late")
    try busy.waitForEnd()
    #expect(busy.goAway?.last == stream)
  }

  @Test func `the streams of a client that disconnects are recorded once each`() throws {
    let gate = HTTP2Gate()
    defer { gate.open() }
    let stage = try stage { _ in [.wait(gate)] + .response("late") }
    let client = try stage.http2()
    for _ in 0..<10 { _ = try client.begin("GET", endsStream: true) }
    #expect(eventually { stage.upstream.records.flatMap(\.http2.requests).count == 10 })
    client.socket.close()
    #expect(stage.log.wait(for: .request, ["status": 499], count: 10))
    #expect(eventually { stage.upstream.records[0].http2.failures.count == 10 })
    let other = try stage.http2()
    #expect(try other.response(other.begin("GET", "/elsewhere", endsStream: true)).status == 404)
    #expect(stage.log.wait(for: .request, ["status": 404]))
    #expect(stage.log.lines(of: .request).count == 11)
  }
}

private func large(_ count: Int) -> [UInt8] {
  stride(from: 0, to: count, by: 32_768).flatMap { Pattern.bytes(at: $0, count: 32_768) }
}
