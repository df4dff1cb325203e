import Policy
import Testing

@testable import Gateway

/// The state of an upstream connection. Each line of a test is an event and the step that must follow.
@Suite struct UpstreamLifecycleTests {
  private typealias Event = @Sendable (inout UpstreamLifecycle) -> UpstreamLifecycle.Step
  private typealias Line = (event: Event, step: UpstreamLifecycle.Step)

  private static let end: Line = ({ $0.streamEnded() }, .reportEnd(isClean: false))
  private static let ready: Line = ({ $0.opened(.http1, early: [UInt8]().span, isEnd: false) }, .ready)
  private static let received: Line = ({ $0.received() }, .decrypt)
  private static let begins = does { $0.runBegan() }
  private static let ends = does { $0.runEnded() }

  private static func decrypted(_ count: Int, end: Bool = false, queued: Int = 0, _ step: UpstreamLifecycle.Step)
    -> Line
  {
    ({ $0.decrypted(count: count, isEnd: end, queuedBytes: queued) }, step)
  }

  private static func delivered(_ step: UpstreamLifecycle.Step) -> Line { ({ $0.delivered() }, step) }

  private static func does(_ act: @escaping @Sendable (inout UpstreamLifecycle) -> Void) -> Line {
    (
      { connection in
        act(&connection)
        return .nothing
      }, .nothing
    )
  }

  @discardableResult
  private func play(
    tls: Bool = true, _ lines: [Line], sourceLocation: SourceLocation = #_sourceLocation
  ) -> UpstreamLifecycle {
    var connection = UpstreamLifecycle(isTLS: tls)
    for (number, line) in lines.enumerated() {
      let step = line.event(&connection)
      #expect(step == line.step, "line \(number + 1)", sourceLocation: sourceLocation)
    }
    return connection
  }

  @Test func `a connection goes from the handshake over a request and idle time to its end`() {
    let connection = play([
      ({ $0.received() }, .advanceHandshake), Self.ready, Self.begins, Self.does { $0.carriedCredential() },
      Self.received, Self.decrypted(300, .deliver), Self.delivered(.nothing), Self.ends, Self.received,
      Self.decrypted(0, end: true, .nothing), Self.delivered(.discard),
    ])
    #expect(connection.hasCarriedCredential && connection.phase == .ending)
    #expect(!connection.isUsable(isWritable: true, queuedBytes: 0))
  }

  @Test func `T26: unrequested bytes end a connection`() {
    play([Self.ready, Self.begins, Self.ends, Self.received, Self.decrypted(1, .discard)])
    play([Self.ready, Self.received, Self.decrypted(1, .discard)])
    play(tls: false, [Self.begins, Self.ends, ({ $0.received() }, .discard)])
    let early: [UInt8] = Array("HTTP/1.1 200 OK\r\n".utf8)
    play([
      (
        { $0.opened(.http1, early: early.span, isEnd: false) },
        .fail(.handshakeFailed, "the upstream sent data or closed the connection before the request")
      )
    ])
  }

  @Test func `an upstream that starts with HTTP/2 is reported`() throws {
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    var connection = UpstreamLifecycle(isTLS: true)
    guard case .fail(.handshakeFailed, let detail) = connection.opened(.http1, early: settings.span, isEnd: false)
    else {
      return #expect(Bool(false), "it has to fail")
    }
    #expect(detail.contains("HTTP/2"))
  }

  @Test func `an end during the handshake is a handshake failure`() {
    play([({ $0.streamEnded() }, .failHandshake)])
    play([({ $0.streamFailed("reset") }, .fail(.handshakeFailed, "reset"))])
    play([({ $0.deadlinePassed() }, .fail(.handshakeTimeout, "the handshake did not finish in time"))])
  }

  @Test func `T17: only close_notify ends TLS cleanly, and later bytes are ignored`() {
    play([Self.ready, Self.begins, Self.end, ({ $0.received() }, .nothing), ({ $0.streamEnded() }, .nothing)])
    play([
      Self.ready, Self.begins, Self.received, Self.decrypted(12, end: true, .deliver),
      Self.delivered(.reportEnd(isClean: true)),
      ({ $0.received() }, .nothing), ({ $0.streamEnded() }, .nothing),
    ])
    play(tls: false, [Self.begins, ({ $0.streamEnded() }, .reportEnd(isClean: true))])
  }

  @Test func `T26: an upstream that causes TLS replies without reading them is disconnected`() {
    play([
      Self.ready, Self.received, Self.decrypted(0, queued: UpstreamLifecycle.maximumQueue, .nothing), Self.received,
      Self.decrypted(
        0, queued: UpstreamLifecycle.maximumQueue + 1,
        .fail(.upstreamMalformed, "the upstream causes TLS replies and does not read them")),
    ])
  }

  @Test func `a connection that was closed during delivery does not report its end`() {
    play([
      Self.ready, Self.begins, Self.received, Self.decrypted(5, end: true, .deliver), Self.does { _ = $0.close() },
      Self.delivered(.nothing),
    ])
  }

  @Test func `a connection is closed once, and an idle timeout is no failure`() {
    var connection = play([Self.ready, Self.begins, Self.ends, ({ $0.deadlinePassed() }, .discard)])
    let times = [connection.close(), connection.close()]
    #expect(times == [true, false] && !connection.mayWrite && !connection.isVerified)
  }

  @Test func `a failed write or queued bytes make a connection unusable`() {
    var connection = play([Self.ready])
    #expect(connection.isUsable(isWritable: true, queuedBytes: 0))
    #expect(!connection.isUsable(isWritable: false, queuedBytes: 0))
    #expect(!connection.isUsable(isWritable: true, queuedBytes: 1))
    connection.writeFailed()
    #expect(!connection.isUsable(isWritable: true, queuedBytes: 0) && !connection.mayWrite)
  }

  @Test func `T25: a connection that is dedicated to a client's login stays dedicated when reused`() {
    let connection = play([Self.ready, Self.begins, Self.does { $0.dedicate() }, Self.ends, Self.begins, Self.ends])
    #expect(connection.isDedicated && !connection.hasRoom)
    #expect(connection.isUsable(isWritable: true, queuedBytes: 0))
  }

  // MARK: several runs

  private static func limit(_ count: Int) -> Line { does { $0.limitRuns(to: count) } }

  @Test func `an HTTP/1 connection has room for one run`() {
    var connection = UpstreamLifecycle(isTLS: true)
    #expect(!connection.hasRoom)
    connection = play([Self.ready])
    #expect(connection.hasRoom && connection.maximumRuns == 1)
    connection.runBegan()
    #expect(!connection.hasRoom && connection.runs == 1)
    connection.runEnded()
    #expect(connection.hasRoom)
  }

  @Test func `a connection has room up to the upstream's limit of runs`() {
    var connection = play([Self.ready, Self.limit(2), Self.begins])
    #expect(connection.hasRoom)
    connection.runBegan()
    #expect(!connection.hasRoom)
    // A lower limit does not end a run.
    connection.limitRuns(to: 1)
    connection.runEnded()
    #expect(!connection.hasRoom && connection.runs == 1)
    connection.limitRuns(to: 3)
    #expect(connection.hasRoom)
  }

  @Test func `the end of one run leaves the other runs of its connection`() {
    play([
      Self.ready, Self.limit(2), Self.begins, Self.begins, Self.ends, Self.received, Self.decrypted(1, .deliver),
      Self.delivered(.nothing), ({ $0.deadlinePassed() }, .nothing), Self.end,
    ])
    play([Self.ready, Self.limit(2), Self.begins, Self.begins, Self.ends, Self.ends, ({ $0.streamEnded() }, .discard)])
  }

  @Test func `an upstream that refuses further runs can end the runs in progress`() {
    var connection = play([
      Self.ready, Self.limit(2), Self.begins, Self.does { $0.refuseRuns() }, Self.received, Self.decrypted(1, .deliver),
    ])
    #expect(!connection.hasRoom && connection.mayWrite)
    connection.limitRuns(to: 9)
    connection.runEnded()
    #expect(!connection.hasRoom && !connection.isUsable(isWritable: true, queuedBytes: 0))
  }

  @Test(
    arguments: [
      { _ = $0.close() }, { $0.writeFailed() }, { _ = $0.streamEnded() }, { $0.dedicate() }, { $0.refuseRuns() },
    ] as [@Sendable (inout UpstreamLifecycle) -> Void])
  func `a connection that ends, or that belongs to one client, has no room`(
    _ event: @Sendable (inout UpstreamLifecycle) -> Void
  ) {
    var connection = play([Self.ready, Self.limit(2), Self.begins])
    #expect(connection.hasRoom)
    event(&connection)
    #expect(!connection.hasRoom)
  }
}
