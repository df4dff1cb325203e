import HTTP2
import Testing

/// What each end must send, and what it must accept, by section of RFC 9113. `MalformedFramesTests` has the input that it must
/// refuse.
@Suite struct RequirementTests {
  private static let roles: [HTTP2Session.Role] = [.server, .client]
  private static let ok = [(":status", "200")]

  /// The next message of the peer: a request on stream 7, or a response on stream 3.
  private func next(_ role: HTTP2Session.Role) -> [UInt8] {
    role == .server ? Raw.headers(7) : Raw.headers(3, Self.ok)
  }

  /// Whether the connection still works.
  private func works(_ raw: RawPeer, _ role: HTTP2Session.Role) -> Bool {
    let heads = raw.peer.log.count { $0.hasPrefix("head") }
    return raw.exchange(next(role)).error == nil
      && raw.peer.log.count { $0.hasPrefix("head") } == heads + 1
  }

  // MARK: 3.4 and 6.5: the beginning

  @Test(arguments: roles) func `3.4: the first bytes are the preface and SETTINGS`(role: HTTP2Session.Role) throws {
    let peer = try Peer(role)
    peer.flush()
    #expect(peer.output.starts(with: Raw.preface) == (role == .client))
    let frames = Raw.parse(peer.output)
    #expect(frames.first?.type == 4 && frames.first?.flags == 0 && frames.first?.stream == 0)
    let settings = frames[0].payload
    let ids = stride(from: 0, to: settings.count, by: 6).map { Int(settings[$0]) << 8 | Int(settings[$0 + 1]) }
    // ENABLE_PUSH 0 of a client; MAX_CONCURRENT_STREAMS and ENABLE_CONNECT_PROTOCOL of a server.
    #expect(Set(ids) == (role == .client ? [2, 4, 6, 9] : [3, 4, 6, 8, 9]))
  }

  @Test(arguments: roles) func `6.5.3: SETTINGS are acknowledged, acknowledgements are not`(role: HTTP2Session.Role)
    throws
  {
    let raw = try RawPeer(role)
    #expect(
      raw.exchange(Raw.settings([(4, 1)]) + Raw.settings()).frames.map { [$0.type, $0.flags] } == [[4, 1], [4, 1]])
    let peer = try Peer(role)
    peer.flush()
    peer.output = []
    try peer.receive((role == .server ? Raw.preface : []) + Raw.settings() + Raw.settingsAck)
    peer.flush()
    #expect(Raw.parse(peer.output).filter { $0.type == 4 }.map(\.flags) == [1])
  }

  // MARK: 4 and 5.5: frames

  @Test(arguments: roles)
  func `4.1 5.5 6.5.2: unknown frames, flags, settings and the reserved bit are ignored`(role: HTTP2Session.Role) throws
  {
    let raw = try RawPeer(role)
    #expect(raw.exchange(Raw.frame(0xF0, 0xFF, 0, [1]) + Raw.frame(0xF0, 0, 99)).frames.isEmpty)
    #expect(raw.exchange(Raw.settings([(0xFFFF, 1), (0, 7)])).frames.map(\.flags) == [1])
    // ALTSVC and ORIGIN.
    #expect(raw.exchange(Raw.frame(0xA, 0, 0, [0, 0]) + Raw.frame(0xC, 0, 0, [0, 0])).frames.isEmpty)
    let reserved = Raw.frame(6, 0xFE, 0x8000_0000, [UInt8](repeating: 1, count: 8))
    #expect(raw.exchange(reserved).frames.map { [$0.type, $0.flags] } == [[6, 1]])
    #expect(raw.exchange(Raw.windowUpdate(0x8000_0000, 0x8000_0001)).error == nil)
    #expect(works(raw, role))
  }

  @Test(arguments: roles) func `4.2: frames of 16,384 bytes are accepted, and not exceeded`(role: HTTP2Session.Role)
    throws
  {
    let raw = try RawPeer(role)
    let head = role == .server ? Raw.headers(1, post, 4) : Raw.headers(1, Self.ok, 4)
    #expect(raw.exchange(head + Raw.data(1, [UInt8](repeating: 0, count: 16_384))).error == nil)
    #expect(raw.peer.streams[1]?.body.count == 16_384)
    let large = [("x", String(repeating: "~", count: 40_000))]
    if role == .server {
      try raw.peer.respond(1, Self.ok + large, endsStream: false)
    } else {
      _ = try raw.peer.request(get + large)
    }
    raw.peer.session.write([UInt8](repeating: 0, count: 50_000), on: 1)
    // Not even if the peer allows larger frames.
    let frames = Raw.parse(raw.peer.output) + raw.exchange(Raw.settings([(5, 1 << 20)])).frames
    #expect(frames.count { $0.type == 9 } > 1 && frames.count { $0.type == 0 } > 3)
    #expect(frames.allSatisfy { $0.payload.count <= 16_384 })
  }

  @Test(arguments: roles) func `4.3: the table of the encoder obeys the peer`(role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    func block(_ stream: HTTP2Session.StreamID) throws -> [UInt8] {
      raw.peer.output = []
      if role == .server { try raw.peer.respond(stream) } else { _ = try raw.peer.request() }
      let frame = Raw.parse(raw.peer.output).first { $0.type == 1 }
      raw.peer.output = []
      return frame?.payload ?? []
    }
    if role == .server { #expect(raw.exchange(Raw.headers(1) + Raw.headers(3)).error == nil) }
    #expect(raw.exchange(Raw.settings([(1, 0)])).error == nil)
    // A size of the table of 0 (RFC 7541 section 6.3).
    #expect(try block(1).first == 0x20)
    #expect(try block(3).first != 0x20)
  }

  @Test(arguments: roles) func `4.3: the table of the decoder survives refused and reset streams`(
    role: HTTP2Session.Role
  )
    throws
  {
    let raw = try RawPeer(role)
    let first = Raw.block(role == .server ? [("a", "b")] + get : [("a", "b")] + Self.ok)
    let entry: [UInt8] = [0x40, 1, 0x78, 1, 0x79]
    #expect(raw.exchange(Raw.frame(1, 5, 1, first + entry)).frames.map(\.code) == [.protocolError])
    // Frames of a stream that was reset.
    #expect(raw.exchange(Raw.frame(1, 5, 1, [0x40, 1, 0x7A, 1, 0x7A])).error == nil)
    let last = Raw.block(role == .server ? get : Self.ok) + [0xBE, 0xBF]
    #expect(raw.exchange(Raw.frame(1, 5, 3, last)).error == nil)
    #expect(raw.peer.streams[3]?.heads.first?.suffix(2) == ["z=z", "x=y"])
  }

  // MARK: 5: streams

  @Test func `5.1.1: a client numbers its streams with odd numbers in rising order`() throws {
    let client = try Peer(.client)
    #expect(try (0..<5).map { _ in try client.request() } == [1, 3, 5, 7, 9])
    #expect(Raw.parse(client.output).filter { $0.type == 1 }.map(\.stream) == [1, 3, 5, 7, 9])
  }

  @Test(arguments: [1, 3, 40]) func `5.1.2: a client has at most the streams that the server accepts`(limit: Int) throws
  {
    let client = try Peer(.client)
    try client.receive(Raw.settings([(3, UInt32(limit))]))
    for _ in 0..<limit { _ = try client.request() }
    #expect(!client.session.canSendRequest)
    #expect { try client.request() } throws: { ($0 as? HTTP2Error)?.endsConnection == false }
    try client.receive(Raw.headers(1, Self.ok))
    #expect(client.session.canSendRequest)
  }

  @Test(arguments: roles) func `5.4.2: no RST_STREAM answers a RST_STREAM`(role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    if role == .server { #expect(raw.exchange(Raw.headers(1, post, 4)).error == nil) }
    #expect(raw.exchange(Raw.reset(1) + Raw.reset(1)).frames.isEmpty)
    #expect(raw.exchange(Raw.windowUpdate(1, 1) + Raw.reset(1)).frames.isEmpty)
    #expect(works(raw, role))
  }

  @Test(arguments: roles) func `6.4: nothing follows a RST_STREAM of the peer`(role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    if role == .server {
      #expect(raw.exchange(Raw.headers(1, post, 4)).error == nil)
      try raw.peer.respond(1, endsStream: false)
    }
    raw.peer.session.write([UInt8](repeating: 1, count: 100_000), on: 1)
    #expect(raw.exchange([]).frames.isEmpty == false)
    #expect(raw.exchange(Raw.reset(1) + Raw.windowUpdate(0, 100_000)).frames.isEmpty)
    raw.peer.session.write([1], on: 1)
    raw.peer.session.end(1)
    #expect(raw.exchange([]).frames.isEmpty && works(raw, role))
  }

  @Test(arguments: roles) func `5.1: frames that a half-closed or closed stream may get are ignored`(
    role: HTTP2Session.Role
  )
    throws
  {
    let raw = try RawPeer(role)
    let end = role == .server ? Raw.headers(1) : Raw.headers(1, Self.ok)
    let late = Raw.windowUpdate(1, 1) + Raw.frame(2, 0, 1, [0, 0, 0, 0, 1])
    #expect(raw.exchange(end + late).frames.isEmpty)
    if role == .server { try raw.peer.respond(1) } else { raw.peer.session.end(1) }
    #expect(raw.exchange(late + Raw.reset(1)).error == nil)
    #expect(works(raw, role))
  }

  // MARK: 6: frames with an answer

  @Test(arguments: roles) func `6.7: PING is answered with the same bytes, an answer is not`(role: HTTP2Session.Role)
    throws
  {
    let raw = try RawPeer(role)
    let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    let frames = raw.exchange(Raw.frame(6, 0, 0, bytes)).frames
    #expect(frames == [Raw.Frame(type: 6, flags: 1, stream: 0, payload: bytes)])
    #expect(raw.exchange(Raw.frame(6, 1, 0, bytes)).frames.isEmpty)
  }

  @Test(arguments: roles) func `5.4.1 6.8: a violation ends the connection with GOAWAY, and nothing follows`(
    role: HTTP2Session.Role
  ) throws {
    let raw = try RawPeer(role)
    let (frames, error) = raw.exchange(Raw.data(0, [1]))
    #expect(error?.endsConnection == true && frames.map(\.type) == [7])
    #expect(raw.exchange(Raw.ping).frames.isEmpty && raw.peer.session.isOver)
    raw.peer.session.reset(1, .cancel)
    raw.peer.session.goAway(.noError)
    raw.peer.session.ping()
    #expect(raw.exchange([]).frames.isEmpty)
    #expect { try raw.peer.request() } throws: { ($0 as? HTTP2Error)?.endsConnection == true }
  }

  @Test func `6.8: a client opens no stream after GOAWAY, and the last stream of its own GOAWAY does not rise`() throws
  {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.goAway(last: 1)).error == nil)
    #expect { try raw.peer.request() } throws: { ($0 as? HTTP2Error)?.endsConnection == false }
    #expect(raw.peer.streams[3]?.failure == .refusedStream && raw.peer.streams[1]?.failure == nil)
    #expect(raw.exchange(Raw.headers(1, Self.ok)).error == nil)
    #expect(raw.peer.streams[1]?.isEnded == true)

    let server = try RawPeer(.server)
    #expect(server.exchange(Raw.headers(1) + Raw.headers(3)).error == nil)
    server.peer.session.goAway(.noError)
    server.peer.session.goAway(.noError)
    let last = server.exchange([]).frames.filter { $0.type == 7 }.map { $0.payload[3] }
    #expect(last == last.sorted(by: >) && last.first == 3)
    // Streams after GOAWAY are not processed.
    #expect(server.exchange(Raw.headers(5)).error == nil && server.peer.streams[5] == nil)
  }

  @Test(arguments: roles) func `6.9.1: padding counts for the windows`(role: HTTP2Session.Role) throws {
    var limits = HTTP2Limits()
    limits.streamWindow = 65_535
    let raw = try RawPeer(role, limits)
    #expect(raw.exchange(role == .server ? Raw.headers(1, post, 4) : Raw.headers(1, Self.ok, 4)).error == nil)
    raw.peer.consumes = false
    let piece = Raw.data(1, [255, 7] + [UInt8](repeating: 0, count: 255), Raw.padded)
    var frames: [Raw.Frame] = []
    for _ in 0..<400 { frames += raw.exchange(piece).frames }
    // Padding is used at once, and its window is given back: only the data counts.
    #expect(frames.allSatisfy { $0.type == 8 })
    #expect(raw.peer.streams[1]?.body.count == 400)
    let given = frames.filter { $0.stream == 1 }.reduce(0) { $0 + Int($1.payload[2]) << 8 + Int($1.payload[3]) }
    #expect(given <= 400 * 256 && given > 400 * 256 - 65_535)
  }

  @Test(arguments: roles) func `6.9.2: INITIAL_WINDOW_SIZE changes the windows of streams, not the connection's`(
    role: HTTP2Session.Role
  ) throws {
    let raw = try RawPeer(role)
    if role == .server {
      #expect(raw.exchange(Raw.headers(1, post, 4)).error == nil)
      try raw.peer.respond(1, endsStream: false)
      raw.peer.output = []
    }
    func sent(after bytes: [UInt8]) -> Int {
      raw.exchange(bytes).frames.filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
    }
    #expect(sent(after: Raw.settings([(4, 100)])) == 0)
    raw.peer.session.write([UInt8](repeating: 1, count: 200_000), on: 1)
    #expect(sent(after: []) == 100)
    #expect(sent(after: Raw.settings([(4, 200_000)])) == 65_435)
    #expect(sent(after: Raw.windowUpdate(0, 1000)) == 1000)
    // The last value of a frame counts.
    #expect(sent(after: Raw.settings([(4, 0), (4, 66_536)]) + Raw.windowUpdate(0, 1000)) == 1)
  }

  @Test func `7: an unknown error code is only reported`() throws {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.reset(1, 0xDEAD_BEEF)).error == nil)
    #expect(raw.peer.streams[1]?.failure == HTTP2Code(rawValue: 0xDEAD_BEEF) && works(raw, .client))
  }

  // MARK: 8: messages

  @Test func `8.1: a response that ends before the request is whole, also with NO_ERROR`() throws {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.headers(1, Self.ok, 4) + Raw.data(1, [7], 1) + Raw.reset(1, 0)).error == nil)
    #expect(raw.peer.streams[1]?.isEnded == true && raw.peer.streams[1]?.body == [7] && works(raw, .client))
  }

  @Test func `8.1.1: a response to HEAD may have a content-length, and no data`() throws {
    for data in [[], [UInt8(1)]] {
      let client = try Peer(.client)
      _ = try client.request([(":method", "HEAD")] + get.dropFirst())
      let head = Raw.headers(1, Self.ok + [("content-length", "5")], data.isEmpty ? 5 : 4)
      try client.receive(Raw.settings() + head + (data.isEmpty ? [] : Raw.data(1, data, 1)))
      #expect(client.streams[1]?.failure == (data.isEmpty ? nil : .protocolError))
      #expect(client.streams[1]?.isEnded == data.isEmpty)
    }
  }

  @Test func `8.5: data is all that a tunnel gets`() throws {
    let raw = try RawPeer(.server)
    let connect = Raw.headers(1, [(":method", "CONNECT"), (":authority", "a:1")], 4)
    #expect(raw.exchange(connect + Raw.data(1, [1])).error == nil)
    #expect(raw.peer.streams[1]?.body == [1])
  }
}
