import HTTP2
import Testing

/// Flow control (RFC 9113 section 5.2).
@Suite struct HTTP2FlowTests {
  @Test func `no more arrives than the window of a stream, until data is used`() throws {
    var limits = HTTP2Limits()
    limits.streamWindow = 100_000
    limits.connectionWindow = 300_000
    let pair = try HTTP2Pair(server: limits)
    pair.server.consumes = false
    try pair.pump()
    // Together more than the window of the connection, which opens by itself.
    let ids = try (0..<6).map { _ in try pair.client.request(post, endsStream: false) }
    for id in ids {
      pair.client.session.write([UInt8](repeating: 7, count: 1_000_000), on: id)
      pair.client.session.end(id)
    }
    try pair.pump()
    var used = 0
    for id in ids { #expect(pair.server.streams[id]?.body.count == 100_000) }
    while pair.server.streams[ids[0]]?.isEnded == false {
      pair.server.session.consumed(30_000, of: ids[0])
      used += 30_000
      try pair.pump()
      #expect(pair.server.streams[ids[0]]!.body.count <= used + 100_000)
      try #require(used <= 1_000_000)
    }
    #expect(pair.server.streams[ids[0]]?.body.count == 1_000_000)
    for id in ids.dropFirst() { #expect(pair.server.streams[id]?.body.count == 100_000) }
    #expect(pair.client.session.queuedBytes(of: ids[1]) == 900_000)
    #expect(pair.client.streams[ids[0]]?.drained == 1 && pair.client.streams[ids[1]] == nil)
  }

  @Test func `a sender waits for the windows of its peer`() throws {
    let raw = try RawPeer(.client)
    raw.peer.session.write([UInt8](repeating: 1, count: 200_000), on: 1)
    func sent(after bytes: [UInt8]) -> Int {
      raw.exchange(bytes).frames.filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
    }
    #expect(sent(after: []) == 65_535)
    #expect(sent(after: Raw.windowUpdate(1, 1000)) == 0)
    #expect(sent(after: Raw.windowUpdate(0, 300)) == 300)
    #expect(sent(after: Raw.windowUpdate(0, 1 << 20)) == 700)
    // Smaller windows for all streams: this one's becomes negative.
    #expect(sent(after: Raw.settings([(4, 0)]) + Raw.windowUpdate(1, 65_535)) == 0)
    #expect(sent(after: Raw.windowUpdate(1, 10)) == 10)
    #expect(raw.peer.session.queuedBytes(of: 1) == 200_000 - 66_545)
    #expect(raw.peer.streams[1]?.drained == nil)
  }

  @Test func `more data than the windows allow ends the stream or the connection`() throws {
    var limits = HTTP2Limits()
    limits.streamWindow = 65_535
    limits.connectionWindow = 1_000_000
    let raw = try RawPeer(.server, limits)
    raw.peer.consumes = false
    let piece = Raw.data(1, [UInt8](repeating: 0, count: 16_384))
    #expect(raw.exchange(Raw.headers(1, post, 4) + piece + piece + piece).frames.isEmpty)
    let (frames, error) = raw.exchange(piece)
    #expect(error == nil && frames.map(\.code) == [.flowControlError] && frames.first?.stream == 1)
    #expect(raw.peer.streams[1]?.failure == .flowControlError)
  }

  @Test func `an empty body, and trailers without a body, need no window`() throws {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.settings([(4, 0)])).error == nil)
    raw.peer.end(1, [("a", "b")])
    raw.peer.session.end(3)
    raw.peer.session.end(3)
    raw.peer.session.write([1], on: 3)
    #expect(raw.peer.session.queuedBytes(of: 3) == 0)
    let frames = raw.exchange(Raw.windowUpdate(1, 100) + Raw.windowUpdate(3, 100)).frames
    #expect(frames.map(\.type).sorted() == [0, 1] && frames.allSatisfy { $0.flags & 1 == 1 })
    #expect(frames.first { $0.type == 0 }?.payload == [])
  }

  @Test func `a server reports when the end of a response was sent, also after it waited for a window`() throws {
    var limits = HTTP2Limits()
    limits.streamWindow = 5
    let pair = try HTTP2Pair(client: limits)
    pair.client.consumes = false
    let ids = try (0..<2).map { _ in try pair.client.request() }
    try pair.pump()
    for id in ids {
      try pair.server.respond(id, endsStream: false)
      pair.server.session.write([1, 2, 3, 4, 5], on: id)
    }
    try pair.pump()
    pair.server.session.end(ids[0])
    pair.server.end(ids[1], [("a", "b")])
    try pair.pump()
    for id in ids { #expect(pair.server.streams[id]?.drained == 1 && pair.client.streams[id]?.isEnded == false) }
    for id in ids { pair.client.session.consumed(5, of: id) }
    try pair.pump()
    for id in ids { #expect(pair.server.streams[id]?.drained == 2 && pair.client.streams[id]?.isEnded == true) }
  }

  @Test func `a head or trailers that are too large fail their stream only`() throws {
    var limits = HTTP2Limits()
    limits.headerBlock = 4 << 20
    let pair = try HTTP2Pair(client: limits)
    pair.largestPiece = 1 << 20
    let ids = try (0..<3).map { _ in try pair.client.request() }
    try pair.pump()
    let large = [("a", String(repeating: "~", count: 1 << 21))]
    #expect { try pair.server.respond(ids[0], [(":status", "200")] + large) } throws: {
      ($0 as? HTTP2Error)?.endsConnection == false
    }
    pair.server.session.reset(ids[0], .internalError)
    try pair.server.respond(ids[1], endsStream: false)
    pair.server.end(ids[1], large)
    let fits = (0..<30).map { ("a\($0)", String(repeating: "~", count: 50_000)) }
    try pair.server.respond(ids[2], [(":status", "200")] + fits)
    try pair.pump()
    for id in ids[..<2] { #expect(pair.client.streams[id]?.failure == .internalError) }
    #expect(pair.client.streams[ids[2]]?.isEnded == true)
  }

  @Test func `each write of a slow sender arrives, and is drained once`() throws {
    let pair = try HTTP2Pair()
    let id = try pair.client.request(post, endsStream: false)
    for number in 1...50 {
      pair.client.session.write([UInt8](repeating: UInt8(number), count: number * 997), on: id)
      try pair.pump()
      #expect(pair.client.streams[id]?.drained == number)
      #expect(pair.client.session.queuedBytes(of: id) == 0)
    }
    pair.client.session.end(id)
    try pair.pump()
    #expect(pair.server.streams[id]?.body == (1...50).flatMap { [UInt8](repeating: UInt8($0), count: $0 * 997) })
    #expect(pair.server.streams[id]?.isEnded == true)
  }

  @Test func `sending can stop after some bytes`() throws {
    let raw = try RawPeer(.client)
    #expect(!raw.peer.session.hasBytes)
    for id: HTTP2Session.StreamID in [1, 3] { raw.peer.session.write([UInt8](repeating: 1, count: 30_000), on: id) }
    raw.peer.session.ping()
    var sizes: [Int] = []
    while raw.peer.session.hasBytes {
      var count = 0
      try raw.peer.session.send(atMost: 20_000) { count += $0.count }
      sizes.append(count)
    }
    #expect(sizes.allSatisfy { $0 < 40_000 } && sizes.count > 1 && sizes.reduce(0, +) == 60_000 + 17 + 9 * 4)
  }
}
