import Foundation
import TestServer
import TestSupport
import Testing

/// The HTTP/2 server for tests, with curl as the client.
@Suite(.enabled(if: curlHasHTTP2)) struct HTTP2TestServerTests {
  private func server(
    _ protocols: [String] = ["h2"], isPlain: Bool = false, handler: @escaping @Sendable (AcceptedConnection) -> Void
  ) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    (options.protocols, options.isPlain) = (protocols, isPlain)
    return try UpstreamServer(chain: [selfSigned()], options: options, handler: handler)
  }

  private func curl(_ server: UpstreamServer, _ arguments: [String], scheme: String = "https", paths: [String] = ["/"])
    throws -> CommandResult
  {
    let urls = paths.map { "\(scheme)://localhost:\(server.port)\($0)" }
    return try run(["curl", "-sS", "-k", "--noproxy", "*", "--max-time", "20"] + arguments + urls)
  }

  @Test(arguments: [false, true])
  func `a request gets an interim head, a head, data and trailers`(isPlain: Bool) throws {
    let server = try server(
      isPlain: isPlain,
      handler: UpstreamServer.http2Handler { request in
        [
          .head(103, [("link", "</style>")]), .head(201, [("x-method", request.method)]), .data(request.body),
          .data(Array("def".utf8)), .trailers([("x-trailer", "last")]),
        ]
      })
    defer { server.stop() }
    let version = isPlain ? "--http2-prior-knowledge" : "--http2"
    let result = try curl(
      server, [version, "-v", "-d", "abc", "-H", "x-a: b"], scheme: isPlain ? "http" : "https", paths: ["/path?query"])
    #expect(result.output == "abcdef")
    for line in ["HTTP/2 103", "link: </style>", "HTTP/2 201", "x-method: POST", "x-trailer: last"] {
      #expect(result.errors.contains("< \(line)"), "\(result.errors)")
    }
    let record = server.finish()[0]
    #expect(record.applicationProtocol == (isPlain ? nil : "h2"))
    #expect(record.http2.error == nil && record.http2.failures.isEmpty)
    let request = try #require(record.http2.requests.first)
    #expect(request.method == "POST" && request.path == "/path?query" && request["x-a"] == "b")
    #expect(request.authority == "localhost:\(server.port)" && request.body == Array("abc".utf8))
  }

  @Test func `a handler of HTTP/1.1 text also responds in HTTP/2`() throws {
    let server = try server(
      handler: UpstreamServer.httpHandler { request in
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        let head = "HTTP/1.1 200 OK\r\nX-A: b\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        let isPost = String(decoding: request.head, as: UTF8.self).hasPrefix("POST /x HTTP/1.1\r\nHost: localhost:")
        return Array((interim + head + "3\r\nabc\r\n4;x\r\n\(isPost)\r\n0\r\nX-T: c\r\n\r\n").utf8)
      })
    defer { server.stop() }
    let result = try curl(server, ["--http2", "-v", "-d", "xyz", "-H", "AUTHORIZATION: secret"], paths: ["/x"])
    #expect(result.output == "abctrue")
    for line in ["HTTP/2 103", "link: </a>", "HTTP/2 200", "x-a: b", "x-t: c"] {
      #expect(result.errors.contains("< \(line)"), "\(result.errors)")
    }
    #expect(try curl(server, ["--http2", "-I"]).output.contains("HTTP/2 200"))
    let text = String(decoding: server.finish()[0].bytes, as: UTF8.self)
    #expect(text.contains("\r\nAuthorization: secret\r\n") && text.hasSuffix("\r\n\r\nxyz"), "\(text)")
  }

  @Test func `a large body passes in both directions`() throws {
    let server = try server(handler: UpstreamServer.http2Handler { [.head(200), .data($0.body), .end] })
    defer { server.stop() }
    let scratch = try Scratch()
    let body = String(repeating: "0123456789", count: 300_000)
    try Data(body.utf8).write(to: URL(fileURLWithPath: "\(scratch.path)/body"))
    let result = try curl(server, ["--http2", "--data-binary", "@\(scratch.path)/body"])
    #expect(result.output == body)
  }

  @Test(arguments: [("--http2", "2 http2"), ("--http1.1", "1.1 http1")])
  func `the server selects the best protocol that the client offers`(argument: String, output: String) throws {
    let server = try server(
      ["h2", "http/1.1"],
      handler: UpstreamServer.http2Handler(
        http1: UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhttp1")
      ) { _ in .response("http2") })
    defer { server.stop() }
    let result = try curl(server, [argument, "-w", " %{http_version}"])
    #expect(result.output.split(separator: " ").reversed().joined(separator: " ") == output, "\(result)")
  }

  @Test func `a stream that waits does not delay another stream`() throws {
    let gate = HTTP2Gate()
    let server = try server(
      handler: UpstreamServer.http2Handler { request in
        if request.path == "/slow" { return [.head(200), .wait(gate), .data(Array("slow ".utf8)), .end] }
        gate.open()
        return .response("fast ")
      })
    defer { server.stop() }
    let result = try curl(server, ["--http2", "-Z"], paths: ["/slow", "/fast"])
    // The request for /fast opened the gate, so it arrived and was handled while the other waited.
    #expect(result.output.split(separator: " ").sorted() == ["fast", "slow"], "\(result)")
    #expect(server.records.count == 1)
  }

  @Test func `a stream is reset, a connection is closed, and a request gets no response`() throws {
    let server = try server(
      handler: UpstreamServer.http2Handler { request in
        switch request.path {
        case "/reset": [.head(200), .data([97]), .reset(.internalError)]
        case "/close": [.head(200), .data([97]), .close]
        case "/leave": [.goAway(.noError)] + .response("left")
        default: []
        }
      })
    defer { server.stop() }
    // curl: 92 is a failed stream, 28 a timeout.
    let reset = try curl(server, ["--http2"], paths: ["/reset"])
    #expect(reset.status == 92 && reset.errors.contains("INTERNAL_ERROR"), "\(reset)")
    #expect(try curl(server, ["--http2"], paths: ["/close"]).status != 0)
    #expect(try curl(server, ["--http2"], paths: ["/leave"]).output == "left")
    #expect(try curl(server, ["--http2", "--max-time", "1"], paths: ["/never"]).status == 28)
  }

  @Test func `requests that were not processed are reported to the client`() throws {
    let server = try server(
      handler: UpstreamServer.http2Handler { request in
        if request.path == "/leave" { return [.goAway(.noError, last: 0)] }
        return request.connection == 0 ? [.reset(.refusedStream)] : .response("second")
      })
    defer { server.stop() }
    // curl repeats this request.
    #expect(try curl(server, ["--http2"]).output == "second")
    #expect(server.records.count == 2)
    #expect(try curl(server, ["--http2", "-v"], paths: ["/leave"]).errors.contains("last_stream=0"))
  }

  @Test func `bytes are sent as they are`() throws {
    // A frame of type DATA on stream 0 (RFC 9113 section 6.1).
    let server = try server(
      handler: UpstreamServer.http2Handler { _ in [.head(200), .raw([0, 0, 0, 0, 0, 0, 0, 0, 0])] })
    defer { server.stop() }
    _ = try curl(server, ["--http2"])
    #expect(server.finish()[0].http2.goAway == HTTP2Reset.protocolError.rawValue)
  }

  @Test func `a server that gives no window takes no more than its window`() throws {
    var options = HTTP2Options()
    (options.streamWindow, options.opensWindows) = (70_000, false)
    let server = try server(
      handler: UpstreamServer.http2EventHandler(options) { request in
        if request.event == .head { return [.head(200)] }
        return request.body.count >= 70_000 ? [.data(Array("\(request.body.count)".utf8))] : []
      })
    defer { server.stop() }
    let scratch = try Scratch()
    try Data(repeating: 0, count: 200_000).write(to: URL(fileURLWithPath: "\(scratch.path)/body"))
    let result = try curl(server, ["--http2", "--max-time", "2", "--data-binary", "@\(scratch.path)/body"])
    #expect(result.status == 28 && result.output == "70000", "\(result)")
    #expect(server.finish()[0].http2.requests.isEmpty)
  }
}

private let curlHasHTTP2 = (try? run(["curl", "-V"]).output.contains("HTTP2")) ?? false
