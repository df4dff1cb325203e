import ServerSupport
import TestServer
import TestSupport
import Testing

/// T54: an HTTP/2 upstream that sends many small frames at once. They are processed on several turns of the loop.
@Suite(.inProcess) struct UpstreamFloodTests {
  enum Ending: CaseIterable {
    case none, closeNotify, withoutNotify
    /// A TLS record that cannot be decrypted.
    case brokenRecord
  }

  private static let body = Pattern.bytes(at: 0, count: 20_000)

  private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int32, _ payload: [UInt8]) -> [UInt8] {
    [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, UInt8(stream)] + payload
  }
  /// A DATA frame for each byte of `body`.
  private static func data(on stream: Int32) -> [UInt8] { body.flatMap { frame(0, 0, stream, [$0]) } }

  /// Removes the first frames, up to the first HEADERS frame. Returns `false` if there is none.
  private static func hasRequest(_ frames: inout ArraySlice<UInt8>) -> Bool {
    while frames.count >= 9 {
      let head = Array(frames.prefix(9))
      let count = 9 + Int(head[1]) << 8 + Int(head[2])
      guard frames.count >= count else { return false }
      frames = frames.dropFirst(count)
      if head[3] == 1 { return true }
    }
    return false
  }

  /// Returns a stage whose upstream responds to its first request with `data`.
  private func stage(_ ending: Ending, isComplete: Bool) throws -> Stage {
    var options = UpstreamServer.Options()
    options.protocols = ["h2"]
    let flood =
      Self.frame(1, 4, 1, [0x88]) + Self.data(on: 1) + (isComplete ? Self.frame(0, 1, 1, []) : [])
    return try Stage(options: options) { connection in
      try? connection.write(Self.frame(4, 0, 0, []))
      var received: ArraySlice<UInt8> = []
      var hasPreface = false
      while let bytes = try? connection.read(), !bytes.isEmpty {
        received += bytes
        if !hasPreface, received.count >= 24 {
          received = received.dropFirst(24)
          hasPreface = true
        }
        guard hasPreface, Self.hasRequest(&received) else { continue }
        try? connection.write(flood)
        switch ending {
        case .none: continue
        case .closeNotify: return connection.close()
        case .withoutNotify: return connection.closeWithoutNotify()
        case .brokenRecord:
          try? connection.writeRaw([23, 3, 3, 0, 32] + [UInt8](repeating: 7, count: 32))
          return connection.closeWithoutNotify()
        }
      }
    }
  }

  @Test(arguments: Ending.allCases, [true, false])
  func `a response arrives completely, however its connection ends`(ending: Ending, isComplete: Bool) throws {
    if ending == .none, !isComplete { return }
    let stage = try stage(ending, isComplete: isComplete)
    try stage.start(stage.configuration(more: "workers: 1"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.head().hasPrefix("HTTP/1.1 200 "))
    var received: [UInt8] = []
    if isComplete {
      try client.chunks { received += $0 }
    } else {
      #expect(throws: (any Error).self) { try client.chunks { received += $0 } }
    }
    // The reset of the client's connection can overtake the last bytes.
    #expect(received.count == Self.body.count || !isComplete && received.count > 10_000, "\(received.count)")
    #expect(Self.body.starts(with: received) == true)
  }

  @Test func `the client can leave, and the daemon can change its configuration, while frames wait`() throws {
    let stage = try stage(.none, isComplete: false)
    try stage.start(stage.configuration(more: "workers: 1"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    _ = try client.head()
    client.reset()
    try stage.reload(stage.configuration(more: "workers: 1\nlog: { level: info }"))
  }

  @Test func `RFC 8441: small frames of a WebSocket arrive completely, before its end`() throws {
    var options = UpstreamServer.Options()
    options.protocols = ["h2", "http/1.1"]
    var http2 = HTTP2Options()
    http2.acceptsWebSockets = true
    let stage = try Stage(
      options: options,
      handler: UpstreamServer.http2EventHandler(http2) { request in
        switch request.event {
        case .head where request.method == "CONNECT": [.head(200)]
        case .data where request.method == "CONNECT": [.raw(Self.data(on: request.stream)), .end]
        case .end: request.method == "CONNECT" ? [] : .response("hello")
        case .head, .data, .failed: []
        }
      })
    try stage.start(stage.configuration(more: "workers: 1"))
    #expect(try stage.get().text == "hello")
    let client = try stage.raw()
    try client.send(
      stage.head(
        "GET",
        fields: "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
    #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
    try client.send("go")
    #expect(try client.exactly(Self.body.count) == Self.body)
    #expect(client.rest().bytes.isEmpty)
    #expect(stage.upstream.records.count == 1)
  }
}
