import HTTP2
import Testing

/// How streams and connections end.
@Suite struct HTTP2EndTests {
  @Test func `a stream that the client resets fails once at the server, and is silent at the client`() throws {
    let pair = try HTTP2Pair()
    let id = try pair.client.request(post, endsStream: false)
    try pair.pump()
    try pair.server.respond(id, endsStream: false)
    pair.server.session.write([1, 2, 3], on: id)
    pair.server.flush()
    pair.client.session.reset(id, .cancel)
    pair.client.session.reset(id, .cancel)
    #expect(pair.client.session.openStreams == 0)
    try pair.pump()
    #expect(pair.client.streams[id] == nil)
    #expect(pair.server.streams[id]?.failure == .cancel && pair.server.streams[id]?.isEnded == false)
    #expect(pair.server.session.openStreams == 0)
    // Later calls do nothing.
    pair.server.session.write([1], on: id)
    pair.server.session.end(id)
    #expect { try pair.server.respond(id) } throws: { ($0 as? HTTP2Error)?.endsConnection == false }
    try pair.pump()
  }

  @Test func `no event follows a reset, not even one that has happened`() throws {
    let raw = try RawPeer(.client)
    let bytes =
      Raw.headers(1, [(":status", "200")], 4) + Raw.data(1, [1]) + Raw.headers(3, [(":status", "204")])
      + Raw.data(1, [], 1)
    try raw.peer.session.receive(bytes)
    let first = try #require(raw.peer.session.nextEvent())
    raw.peer.note(first, bytes)
    raw.peer.session.reset(1, .cancel)
    while let event = raw.peer.session.nextEvent() { raw.peer.note(event, bytes) }
    #expect(raw.peer.streams[1] == Peer.Message(heads: [[":status=200"]]))
    #expect(raw.peer.streams[3] == Peer.Message(heads: [[":status=204"]], isEnded: true))
    let (frames, error) = raw.exchange(Raw.data(1, [1, 2]))
    #expect(error == nil && frames.map(\.code) == [.cancel])
  }

  @Test func `no event follows a reset of a stream that has ended, or after a fault of the connection`() throws {
    for fault in [[], Raw.data(0, [1])] {
      let raw = try RawPeer(.server)
      #expect(raw.exchange(Raw.headers(1, post, 4)).error == nil)
      try raw.peer.respond(1)
      // The stream ends on both sides while the events wait.
      let bytes = Raw.data(1, [1]) + Raw.data(1, [2]) + Raw.headers(1, [("a", "b")]) + fault
      try? raw.peer.session.receive(bytes.span)
      let first = try #require(raw.peer.session.nextEvent())
      raw.peer.note(first, bytes)
      raw.peer.session.reset(1, .cancel)
      while let event = raw.peer.session.nextEvent() { raw.peer.note(event, bytes) }
      #expect(raw.peer.streams[1]?.body == [1])
      #expect(raw.peer.streams[1]?.isEnded == false && raw.peer.streams[1]?.trailers == nil)
    }
  }

  @Test(arguments: [HTTP2Code.cancel, .refusedStream, .http11Required, .internalError])
  func `a stream that the server resets fails once at the client`(code: HTTP2Code) throws {
    let pair = try HTTP2Pair()
    let id = try pair.client.request(endsStream: true)
    try pair.pump()
    pair.server.session.reset(id, code)
    try pair.pump()
    #expect(pair.client.streams[id]?.failure == code && pair.client.streams[id]?.heads == [])
    #expect(pair.server.streams[id]?.failure == nil)
  }

  @Test func `a server can answer before the upload is complete`() throws {
    let raw = try RawPeer(.client)
    let response = Raw.headers(1, [(":status", "413")])
    #expect(raw.exchange(response + Raw.reset(1, 0)).error == nil)
    #expect(raw.peer.streams[1]?.isEnded == true && raw.peer.streams[1]?.failure == .noError)
    // Also without a reset: the upload goes on.
    #expect(raw.exchange(Raw.headers(3, [(":status", "200")])).error == nil)
    raw.peer.session.write([1, 2], on: 3)
    raw.peer.session.end(3)
    #expect(raw.exchange([]).frames.map(\.payload) == [[1, 2]])
    #expect(raw.peer.streams[3]?.failure == nil && raw.peer.session.openStreams == 0)
  }

  @Test func `streams that a server did not process fail with REFUSED_STREAM, and others go on`() throws {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.goAway(last: 1)).error == nil)
    #expect(raw.peer.log.suffix(2) == ["goAway 1 NO_ERROR", "failed 3 REFUSED_STREAM"])
    #expect(!raw.peer.session.takesRequests && !raw.peer.session.isOver)
    #expect { try raw.peer.request() } throws: { ($0 as? HTTP2Error)?.endsConnection == false }
    #expect(raw.exchange(Raw.headers(1, [(":status", "200")])).error == nil)
    #expect(raw.peer.streams[1]?.isEnded == true && !raw.peer.session.isOver)
    raw.peer.session.end(1)
    #expect(raw.exchange([]).error == nil)
    #expect(raw.peer.session.isOver && raw.peer.streams[1]?.failure == nil)
  }

  @Test func `a server that goes away completes its streams`() throws {
    let pair = try HTTP2Pair()
    let id = try pair.client.request(endsStream: true)
    try pair.pump()
    pair.server.session.goAway(.noError)
    let late = try pair.client.request(endsStream: true)
    try pair.pump()
    #expect(pair.client.log.suffix(2) == ["goAway \(id) NO_ERROR", "failed \(late) REFUSED_STREAM"])
    #expect(pair.server.streams[late] == nil)
    try pair.server.respond(id)
    try pair.pump()
    #expect(pair.client.streams[id]?.isEnded == true && pair.client.session.isOver && pair.server.session.isOver)
  }

  @Test func `a client may have 100 streams until it knows the server's limit`() throws {
    var limits = HTTP2Limits()
    limits.streams = 1000
    let pair = try HTTP2Pair(server: limits)
    #expect(pair.client.session.maximumStreams == 100 && !pair.client.session.acceptsExtendedConnect)
    for _ in 0..<100 { _ = try pair.client.request() }
    #expect(!pair.client.session.canSendRequest && pair.client.session.takesRequests)
    try pair.pump()
    #expect(pair.client.session.maximumStreams == 1000 && pair.client.session.acceptsExtendedConnect)
    for _ in 100..<1000 { _ = try pair.client.request(post, endsStream: false) }
    #expect { try pair.client.request() } throws: { ($0 as? HTTP2Error)?.code == .refusedStream }
    #expect(pair.client.log.contains("settings"))
    try pair.pump()
    #expect(pair.client.session.openStreams == 1000 && pair.server.session.openStreams == 1000)
    for id in pair.server.streams.keys.shuffled() {
      try pair.server.respond(id, endsStream: false)
      pair.server.session.write([UInt8](repeating: UInt8(truncatingIfNeeded: id), count: Int(id)), on: id)
      pair.server.end(id, id % 3 == 0 ? [("id", "\(id)")] : [])
      pair.client.session.end(id)
    }
    try pair.pump()
    for (id, message) in pair.client.streams where id > 0 {
      #expect(message.body == [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: Int(id)) && message.isEnded)
      #expect(message.trailers == (id % 3 == 0 ? ["id=\(id)"] : nil) && message.failure == nil)
    }
    #expect(pair.client.session.openStreams == 0 && pair.server.session.openStreams == 0)
  }

  @Test func `a ping is answered`() throws {
    let pair = try HTTP2Pair()
    pair.client.session.ping()
    try pair.pump()
    #expect(pair.client.log.filter { $0 == "pong" } == ["pong"] && !pair.server.log.contains("pong"))
  }

  @Test func `a session that failed does nothing more`() throws {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.data(0)).error != nil)
    #expect(raw.exchange(Raw.headers(1, [(":status", "200")])).error?.code == .protocolError)
    raw.peer.session.ping()
    raw.peer.session.write([1], on: 1)
    raw.peer.session.end(1)
    raw.peer.session.reset(3, .cancel)
    raw.peer.session.goAway(.noError)
    raw.peer.session.consumed(1, of: 1)
    #expect(throws: HTTP2Error.self) { try raw.peer.request() }
    #expect(throws: HTTP2Error.self) { try raw.peer.session.send { _ in Issue.record("bytes") } }
    #expect(raw.peer.streams.isEmpty)
  }

  @Test func `the session refuses calls at a wrong time`() throws {
    let raw = try RawPeer(.client)
    raw.peer.session.ping()
    var calls = 0
    try raw.peer.session.send { _ in
      calls += 1
      #expect(throws: HTTP2Error.self) { try raw.peer.session.receive(Raw.ping) }
      #expect(throws: HTTP2Error.self) { try raw.peer.request() }
      #expect(throws: HTTP2Error.self) { try raw.peer.session.send { _ in } }
      raw.peer.session.reset(1, .cancel)
    }
    #expect(calls == 2)
    // The ranges of data are of the last bytes only.
    let data = Raw.headers(3, [(":status", "200")], 4) + Raw.data(3, [1])
    try raw.peer.session.receive(data)
    #expect { try raw.peer.session.receive(Raw.ping) } throws: { ($0 as? HTTP2Error)?.code == .internalError }
  }
}
