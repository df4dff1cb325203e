import Glibc
import HTTP2
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// gRPC calls through the daemon, to an upstream that speaks HTTP/2.
@Suite(.inProcess) struct GRPCCallsTests {
  private static let type: HTTP2Fields = [(name: "content-type", value: "application/grpc")]
  private static let message: [UInt8] = [0, 0, 0, 0, 2, 104, 105]

  private func stage(
    service: String = "", credential: String = "bearer: { file: canary.token }",
    _ respond: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) throws -> Stage {
    var options = UpstreamServer.Options()
    options.protocols = ["h2"]
    let stage = try Stage(options: options, handler: UpstreamServer.http2Handler { respond($0) })
    try stage.start(stage.configuration(service: service, credential: credential, more: "workers: 1\n"))
    return stage
  }

  private func call(_ client: HTTP2Client, _ path: String) throws -> HTTP2Client.Response {
    let stream = try client.begin("POST", path, fields: Self.type)
    try client.write(Self.message, on: stream)
    try client.end(stream)
    return try client.response(stream)
  }

  @Test func `the log has the status of each call`() throws {
    let stage = try stage { request in
      switch request.path {
      case "/base/head": [.head(200, Self.type + [(name: "grpc-status", value: "5")], ends: true)]
      case "/base/odd": [.head(200, Self.type), .trailers([(name: "grpc-status", value: "1 event=x")])]
      case "/base/cut": [.head(200, Self.type), .data(Self.message), .reset(.internalError)]
      default: [.head(200, Self.type), .data(Self.message), .trailers([(name: "grpc-status", value: "0")])]
      }
    }
    let client = try stage.http2()
    for path in ["/api/good", "/api/head", "/api/odd", "/api/cut", "/none"] { _ = try call(client, path) }
    // Not a gRPC call.
    _ = try client.response(client.begin("GET", "/api/head", endsStream: true))
    #expect(stage.log.wait(for: .request, ["method": "GET"]))
    let lines = stage.log.lines(of: .request)
    #expect(lines.map { $0["grpc_status"] } == ["0", "5", nil, "14", "12", nil])
    #expect(lines.map { $0["status"] } == ["200", "200", "200", "200", "404", "200"])
  }

  @Test(arguments: [false, true])
  func `T41: calls that are rejected at their end suspend the credential, if they have no message`(hasMessage: Bool)
    throws
  {
    let stage = try stage(credential: "bearer: { file: canary.token }\n    suspend: { after: 2, for: 1h }") { request in
      let status = request.path == "/base/good" ? "0" : "16"
      return [.head(200, Self.type)] + (hasMessage ? [.data(Self.message)] : [])
        + [.trailers([(name: "grpc-status", value: status)])]
    }
    let client = try stage.http2()
    // A call that succeeds resets the count.
    for path in ["/api/bad", "/api/good", "/api/bad", "/api/bad"] {
      let response = try call(client, path)
      #expect(response.trailers.first?.value == (path == "/api/good" ? "0" : "16"))
      #expect(response.body == (hasMessage ? Self.message : []))
    }
    // With a message, the upstream has accepted the credential.
    if hasMessage { return #expect(try call(client, "/api/good").trailers.first?.value == "0") }
    for _ in 0..<3 {
      let response = try call(client, "/api/good")
      #expect(response["grpc-status"] == "14" && response["grpc-message"]?.contains("credential-suspended") == true)
    }
    #expect(stage.log.wait(for: .credentialSuspended, ["credential": "canary", "rejections": 2]))
    #expect(stage.log.lines(of: .request, ["credential_rejected": "true"]).count == 3)
    #expect(stage.upstream.records.flatMap(\.http2.requests).count == 4)
  }

  @Test func `T41: a silent stream that tests a suspended credential keeps no other call waiting`() throws {
    let stage = try stage(credential: "bearer: { file: canary.token }\n    suspend: { after: 1, for: 1s }") { request in
      switch request.path {
      case "/base/bad": [.head(200, Self.type + [(name: "grpc-status", value: "16")], ends: true)]
      case "/base/watch": [.head(200, Self.type)]
      default: [.head(200, Self.type), .data(Self.message), .trailers([(name: "grpc-status", value: "0")])]
      }
    }
    let client = try stage.http2()
    #expect(try call(client, "/api/bad")["grpc-status"] == "16")
    #expect(stage.log.wait(for: .credentialSuspended, ["credential": "canary"]))
    usleep(1_050_000)
    let watch = try client.begin("POST", "/api/watch", fields: Self.type)
    try client.end(watch)
    #expect(try client.wait(for: watch) { $0.status != nil }.status == 200)
    #expect(try call(client, "/api/good").trailers.first?.value == "0")
  }
}
