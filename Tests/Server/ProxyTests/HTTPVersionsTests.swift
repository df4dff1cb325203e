import Foundation
import HTTP2
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// The same exchanges in all four combinations of HTTP versions.
@Suite(.inProcess) struct HTTPVersionsTests {
  private func eventStage(
    _ wire: Wire, more: String = "", service: String = "",
    _ onEvent: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) throws -> Stage {
    let stage = try Stage(options: wire.options, handler: Wire.handler(onEvent: onEvent))
    try stage.start(stage.configuration(service: service, more: "workers: 1\n\(more)"))
    return stage
  }

  /// Responds to complete requests.
  private func stage(
    _ wire: Wire, more: String = "", service: String = "", respond: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) throws -> Stage {
    try eventStage(wire, more: more, service: service) { $0.event == .end ? respond($0) : [] }
  }

  // MARK: messages

  @Test(arguments: Wire.all) func `requests without a body`(wire: Wire) throws {
    let stage = try stage(
      wire,
      respond: { request in
        request.path == "/base/none"
          ? [.head(204, ends: true)]
          : .response("hello", [(name: "x-a", value: "1"), (name: "x-own", value: request["x-own"] ?? "")])
      })
    let client = try WireClient(wire.client, stage)
    for _ in 0..<3 {
      let response = try client.get(fields: [(name: "x-own", value: "2"), (name: "accept", value: "a/b")])
      #expect(response.status == 200 && response.text == "hello")
      #expect(response["x-a"] == "1" && response["x-own"] == "2" && response["content-length"] == "5")
    }
    #expect(try client.get("/api/none").status == 204)
    let head = try client.get(method: "HEAD")
    #expect(head.status == 200 && head["content-length"] == "5" && head.body.isEmpty)
    stage.assertCanary(times: 5)
    #expect(stage.upstream.records.map(\.applicationProtocol) == [wire.upstream == .http2 ? "h2" : "http/1.1"])
  }

  @Test(arguments: Wire.all, [true, false])
  func `bodies of several megabytes pass in both directions`(wire: Wire, hasLength: Bool) throws {
    let stage = try stage(wire, respond: { [.head(200), .data($0.body), .end] })
    let client = try WireClient(wire.client, stage)
    let body = large(3 << 20)
    for _ in 0..<2 {
      let stream = try client.begin("POST", body: hasLength ? .length(body.count) : .unknown)
      // With HTTP/2, the bytes beyond the window are sent while the response is awaited.
      for start in stride(from: 0, to: body.count, by: 100_000) {
        try client.send(Array(body[start..<min(start + 100_000, body.count)]), on: stream)
      }
      try client.end(stream)
      let response = try client.response(stream)
      #expect(response.status == 200 && response.body == body)
    }
    stage.assertCanary(times: 2)
  }

  @Test(arguments: Wire.all) func `small bodies of both kinds`(wire: Wire) throws {
    let stage = try stage(wire, respond: { .response("got \($0.body.count)") })
    let client = try WireClient(wire.client, stage)
    for body in [WireClient.Body.length(2), .unknown, .length(0)] {
      let stream = try client.begin("POST", body: body)
      var count = 2
      if case .length(0) = body { count = 0 } else { try client.send(Array("hi".utf8), on: stream) }
      try client.end(stream)
      #expect(try client.response(stream).text == "got \(count)")
    }
  }

  @Test(arguments: Wire.all) func `trailers pass in both directions`(wire: Wire) throws {
    let stage = try stage(
      wire,
      respond: { _ in
        [.head(200), .data(Array("hi".utf8)), .trailers([(name: "x-sum", value: "2")])]
      })
    let client = try WireClient(wire.client, stage)
    let stream = try client.begin("POST", fields: [(name: "te", value: "trailers")], body: .unknown)
    try client.send(Array("body".utf8), on: stream)
    try client.end(stream, trailers: [(name: "x-up", value: "4")])
    let response = try client.response(stream)
    #expect(response.text == "hi" && response.trailers == ["x-sum: 2"])
    #expect(stage.recorded.lowercased().contains("x-up: 4\r\n"))
  }

  @Test(arguments: Wire.all) func `Via names the version that the client uses`(wire: Wire) throws {
    let stage = try stage(wire, service: "via: true", respond: { _ in .response("hello") })
    let response = try WireClient(wire.client, stage).get(fields: [(name: "via", value: "1.0 first")])
    #expect(response.text == "hello")
    let via = stage.recorded.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("via: ") }
    #expect(via.map { $0.dropFirst(5) } == ["1.0 first", wire.client == .http2 ? "2.0 bearerd" : "1.1 bearerd"])
  }

  @Test(arguments: Wire.all) func `interim responses pass`(wire: Wire) throws {
    let stage = try stage(wire, respond: { _ in [.head(103, [(name: "link", value: "</a>")])] + .response("hi") })
    let response = try WireClient(wire.client, stage).get()
    #expect(response.interim == [103] && response.text == "hi")
  }

  @Test(arguments: Wire.all) func `the client may wait for 100 (Continue)`(wire: Wire) throws {
    let stage = try eventStage(wire) { request in
      request.event == .head ? [.head(100)] : .response("got \(request.body.count)")
    }
    let client = try WireClient(wire.client, stage)
    let stream = try client.begin("PUT", fields: [(name: "expect", value: "100-continue")], body: .length(4))
    if let http2 = client.http2 {
      try http2.wait(for: stream) { $0.interim == [100] }
    } else {
      #expect(try client.socket.head().hasPrefix("HTTP/1.1 100 "))
    }
    try client.send(Array("body".utf8), on: stream)
    try client.end(stream)
    #expect(try client.response(stream).text == "got 4")
  }

  @Test(arguments: Wire.all) func `a response before the end of the request ends the request`(wire: Wire) throws {
    let stage = try eventStage(wire) { request in
      request.event == .head && request.path == "/base/early" ? .response("too large", status: 413) : .response("hi")
    }
    let client = try WireClient(wire.client, stage)
    let stream = try client.begin("POST", "/api/early", body: .length(1 << 20))
    try client.send([1, 2, 3], on: stream)
    let response = try client.response(stream)
    #expect(response.status == 413 && response.text == "too large")
    let next = try wire.client == .http1 ? WireClient(.http1, stage) : client
    #expect(try next.get().text == "hi")
  }

  // MARK: refusals

  @Test(arguments: Wire.Version.allCases) func `refusals are the same in both versions`(version: Wire.Version) throws {
    let wire = Wire(client: version, upstream: .http1)
    let stage = try stage(
      wire, service: "rules: [{ match: \"/**\", methods: [GET] }]", respond: { _ in .response("hello") })
    let rows: [(status: Int, method: String, path: String, fields: HTTP2Fields)] = [
      (404, "GET", "/none", []),
      (403, "POST", "/api/x", []),
      (400, "GET", "/api/%zz", []),
      (421, "GET", "/api/x", [(name: ":authority", value: "evil.example")]),
      (403, "GET", "/api/x", [(name: "origin", value: "https://evil.example")]),
      (431, "GET", "/api/x", [(name: "x-large", value: String(repeating: "a", count: 70_000))]),
      (414, "GET", "/api/" + String(repeating: "a", count: 20_000), []),
    ]
    let client = try WireClient(version, stage)
    for row in rows {
      let own = try version == .http1 ? WireClient(.http1, stage) : client
      let response = try own.get(row.path, fields: row.fields, method: row.method)
      #expect(response.status == row.status && response["content-type"] == "application/problem+json", "\(row)")
      let body = try own === client ? client.begin("POST", row.path, fields: row.fields, body: .length(9)) : nil
      guard let body, row.method == "GET", row.path != "/api/x" else { continue }
      #expect(try client.response(body).status == row.status, "\(row)")
    }
    #expect(try client.get().text == "hello")
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `T6: each stream needs a client token`() throws {
    let stage = try Stage.withClients()
    let client = try stage.http2()
    let token = [(name: "x-api-key", value: ClientTokens.ci.text)]
    for _ in 0..<2 {
      #expect(try client.response(client.begin("GET", endsStream: true)).status == 403)
      #expect(try client.response(client.begin("GET", fields: token, endsStream: true)).status == 200)
    }
    let wrong = [(name: "x-api-key", value: ClientTokens.Pair().text)]
    #expect(try client.response(client.begin("GET", fields: wrong, endsStream: true)).status == 403)
    stage.assertNoClientToken()
    stage.assertCanary(times: 2)
  }

  // MARK: failures

  @Test(arguments: Wire.all) func `an upstream that fails within a response`(wire: Wire) throws {
    let gate = HTTP2Gate()
    let stage = try stage(
      wire,
      respond: { request in
        request.path == "/base/half"
          ? [.head(200), .data(Array("half".utf8)), .wait(gate), .reset(.cancel)] : .response("hi")
      })
    let client = try WireClient(wire.client, stage)
    let stream = try client.begin("GET", "/api/half")
    let head = try client.head(stream)
    // The reset of the upstream may drop data that it has not sent.
    if let http2 = client.http2 { try http2.wait(for: stream) { $0.text == "half" } }
    gate.open()
    #expect(throws: (any Error).self) { try client.rest(head, stream) }
    if let http2 = client.http2 {
      #expect(http2[stream].text == "half" && http2[stream].failure == .internalError)
      #expect(try client.get().text == "hi")
    }
    #expect(stage.log.wait(for: .request, ["path": "/api/half", "aborted": "true"]))
  }

  @Test(arguments: Wire.all) func `T58: a request that the client cancels is recorded once`(wire: Wire) throws {
    let gate = HTTP2Gate()
    let stage = try stage(
      wire,
      respond: { request in
        request.path == "/base/slow" ? [.wait(gate)] + .response("late") : .response("hi")
      })
    defer { gate.open() }
    let client = try WireClient(wire.client, stage)
    let stream = try client.begin("GET", "/api/slow")
    #expect(eventually { stage.recorded.contains("/base/slow") })
    try client.cancel(stream)
    #expect(stage.log.wait(for: .request, ["path": "/api/slow", "status": "499"]))
    if wire.client == .http2 { #expect(try client.get().text == "hi") }
    if wire.upstream == .http2 {
      #expect(eventually { stage.upstream.records[0].http2.failures.map(\.code) == [HTTP2Reset.cancel.rawValue] })
    }
    #expect(stage.log.lines(of: .request, ["path": "/api/slow"]).count == 1)
  }

  @Test(arguments: Wire.all) func `an upstream that cannot be reached`(wire: Wire) throws {
    let stage = try stage(wire, respond: { _ in [.reset(.internalError)] })
    let client = try WireClient(wire.client, stage)
    let response = try client.get()
    #expect(response.status == 502 && response.text.contains("upstream-closed"))
  }

  // MARK: the configuration

  @Test(arguments: Wire.all)
  func `T47: a response is cut when its service is removed, and others go on`(wire: Wire) throws {
    let gate = HTTP2Gate()
    let stage = try Stage(
      options: wire.options,
      handler: Wire.handler { request in
        request.event == .end
          ? [.head(200), .data(Array("half".utf8)), .wait(gate), .data(Array("rest".utf8)), .end] : []
      })
    // With the same upstream and credential, so that both requests share a connection over HTTP/2.
    let pins = "pins: [\(stage.leaf.pin), \(stage.backup.pin)]"
    let other = "  other: { upstream: \"\(stage.origin)/base/\", credential: canary, ca_file: ca.pem, \(pins) }"
    let settings = "workers: 1\nlimits: { revoked_grace: 0s }"
    try stage.start(stage.configuration(more: settings, services: other))
    let client = try WireClient(wire.client, stage)
    let second = try wire.client == .http1 ? WireClient(.http1, stage) : client
    let (cut, kept) = (try client.begin("GET"), try second.begin("GET", "/other/x"))
    let heads = (try client.head(cut), try second.head(kept))
    try stage.reload(
      stage.configuration(more: settings, services: other).replacingOccurrences(of: "  api:", with: "  new:"))
    #expect(throws: (any Error).self) { try client.rest(heads.0, cut) }
    if wire.upstream == .http2 {
      #expect(stage.upstream.wait { $0.count == 1 && $0[0].http2.failures.map(\.code) == [HTTP2Reset.cancel.rawValue] })
    }
    gate.open()
    #expect(try second.rest(heads.1, kept).text == "halfrest")
  }

  @Test(arguments: Wire.all) func `T46: a response is cut when its credential is logged out`(wire: Wire) throws {
    let gate = HTTP2Gate()
    defer { gate.open() }
    let stage = try Stage(
      options: wire.options,
      handler: Wire.handler { request in
        request.event == .end ? [.head(200), .data(Array("half".utf8)), .wait(gate), .data([33]), .end] : []
      })
    let other = "  other: { upstream: \"\(stage.origin)/\", credential: none, ca_file: ca.pem }"
    try stage.start(stage.configuration(more: "workers: 1", services: other))
    let client = try WireClient(wire.client, stage)
    let second = try wire.client == .http1 ? WireClient(.http1, stage) : client
    let (stream, kept) = (try client.begin("GET"), try second.begin("GET", "/other/x"))
    let heads = (try client.head(stream), try second.head(kept))
    _ = try stage.control("logout canary")
    #expect(throws: (any Error).self) { try client.rest(heads.0, stream) }
    // A request without the credential goes on, also on the same connection of the client.
    gate.open()
    #expect(try second.rest(heads.1, kept).text == "half!")
    if let http2 = client.http2 { #expect(http2[stream].failure == .internalError) }
  }

  @Test(arguments: Wire.all) func `a stop lets requests in progress end`(wire: Wire) throws {
    let gate = HTTP2Gate()
    let stage = try stage(
      wire, respond: { _ in [.head(200), .data(Array("half".utf8)), .wait(gate), .data(Array("rest".utf8)), .end] })
    let client = try WireClient(wire.client, stage)
    let stream = try client.begin("GET")
    let head = try client.head(stream)
    stage.daemon?.beginStop()
    #expect(stage.log.wait(for: .stopping))
    if let http2 = client.http2 { while http2.goAway == nil { #expect(try http2.receive()) } }
    gate.open()
    #expect(try client.rest(head, stream).text == "halfrest")
    if let http2 = client.http2 {
      #expect(http2.goAway?.code == .noError && http2.goAway?.last == stream)
      try http2.waitForEnd()
    }
    client.socket.close()
    #expect(stage.daemon?.waitForExit() == 0)
  }
}

private func large(_ count: Int) -> [UInt8] {
  stride(from: 0, to: count, by: 32_768).flatMap { Pattern.bytes(at: $0, count: 32_768) }
}
