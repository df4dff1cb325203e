import Gateway
import TestSupport
import Testing

@testable import Proxy

/// The deadlines of gRPC calls, with a clock that stands still.
@Suite struct GRPCCallRunTests {
  @Test(
    arguments: [
      ("1S", "", 2_000), ("1S", ", timeouts: { total: 5s }", 2_000), ("9S", ", timeouts: { total: 5s }", 5_000),
      ("soon", ", timeouts: { total: 5s }", 5_000), ("250m", "", 1_250),
    ] as [(String, String, UInt64)])
  func `a call ends at the earlier of its own deadline and the service's`(
    timeout: String, service: String, milliseconds: UInt64
  ) throws {
    let stage = try RunStage(RunStage.plain(service))
    defer { stage.close() }
    let client = stage.client()
    client.call("/api/Greeter/Hello", ("grpc-timeout", timeout))
    let run = try #require(client.run)
    #expect(run.timing.totalBy == run.timing.startedAt + milliseconds)
    stage.advance(milliseconds - 1)
    #expect(client.run === run && client.sent.isEmpty)
    stage.advance(1)
    client.deadlinePassed()
    #expect(client.run == nil && client.status == 200 && client.sent.contains("\r\ngrpc-status: 4\r\n"))
    #expect(client.sent.contains(service.isEmpty || timeout == "1S" ? "key grpc-timeout" : "key timeouts.total"))
  }

  @Test func `a call without a deadline has no time limit`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = stage.client()
    client.call()
    #expect(try #require(client.run).timing.totalBy == .max)
  }

  @Test func `a call is not sent on a connection with HTTP/1.1`() throws {
    let stage = try RunStage(RunStage.plain(", timeouts: { response_head: 1s, body_silence: 1s }"))
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    client.call()
    #expect(client.sent.contains("\r\ngrpc-status: 13\r\n") && upstream.received().isEmpty)
    #expect(stage.records().map { $0["refused"] } == ["grpc-needs-http2"])
    // Other requests use the connection.
    let next = stage.client()
    next.get()
    #expect(next.run?.upstream === upstream.connection)
  }
}
