import HTTP2
import ServerSupport
import TestServer
import TestSupport
import Testing

/// A peer that does not read stops the sender on the other side, and only on its own stream (T54). `SlowReaderTests` has
/// HTTP/1 on both sides.
@Suite(.inProcess) struct BackpressureTests {
  /// More than the buffers of the kernel take.
  private static let body = large(16 << 20)
  /// More than the windows of both sides together.
  private static let windows = 512 << 10

  private static let wires = Wire.all.filter { $0.client == .http2 || $0.upstream == .http2 }

  @Test(arguments: wires) func `T54: a client that does not read stops its upstream`(wire: Wire) throws {
    let isHTTP2 = wire.client == .http2 && wire.upstream == .http2
    let body = isHTTP2 ? Array(Self.body[..<(4 << 20)]) : Self.body
    let stage = try Stage(
      options: wire.options,
      handler: Wire.handler { request in
        guard request.event == .end else { return [] }
        return request.path == "/base/large" ? [.head(200), .data(body), .end] : .response("hi")
      })
    try stage.start(stage.configuration(more: "workers: 1\nlimits: { stream_window: 64KiB }"))
    let client = try WireClient(wire.client, stage, receiveBuffer: 16_384)
    let stream = try client.begin("GET", "/api/large")
    client.http2?.unread = [stream]
    let head = try client.head(stream)
    let sent = try settled(wire.client == .http1 ? WireClient(.http1, stage) : client) {
      stage.upstream.records.reduce(0) { $0 + $1.sentBytes }
    }
    #expect(sent < (isHTTP2 ? Self.windows : body.count))
    try client.http2?.read(stream)
    #expect(try client.rest(head, stream).body == body)
    #expect(wire.upstream == .http1 || stage.upstream.records.count == 1)
  }

  @Test(arguments: Wire.Version.allCases)
  func `T54: an upstream over HTTP/2 that does not read stops its client`(version: Wire.Version) throws {
    var options = UpstreamServer.Options()
    options.protocols = ["h2"]
    var http2 = HTTP2Options()
    (http2.streamWindow, http2.opensWindows) = (65_535, false)
    let stage = try Stage(options: options, handler: UpstreamServer.http2Handler(http2) { _ in .response("hi") })
    try stage.start(stage.configuration(more: "workers: 1"))
    let client = try WireClient(version, stage)
    let stream = try client.begin("POST", body: .length(Self.body.count))
    if let http2 = client.http2 { try http2.write(Self.body, on: stream) }
    var written = 0
    let taken = try settled(version == .http1 ? WireClient(.http1, stage) : client) {
      if let http2 = client.http2 { return Self.body.count - http2.session.queuedBytes(of: stream) }
      written += client.socket.sendWithoutWaiting(Array(Self.body[written...].prefix(1 << 20)))
      return written
    }
    #expect(taken >= 65_535 && taken < (version == .http2 ? Self.windows : Self.body.count))
    #expect(stage.upstream.records.count == 1)
  }

  /// Sends small requests until the number of bytes stays the same for many of them, and returns it.
  private func settled(_ client: WireClient, _ count: () -> Int) throws -> Int {
    var (last, quiet) = (count(), 0)
    while quiet < 20 {
      #expect(try client.get().text == "hi")
      let now = count()
      // The small response also counts.
      quiet = now < last + 1_000 ? quiet + 1 : 0
      last = now
    }
    return last
  }
}

private func large(_ count: Int) -> [UInt8] {
  stride(from: 0, to: count, by: 32_768).flatMap { Pattern.bytes(at: $0, count: 32_768) }
}
