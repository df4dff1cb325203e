import HTTP2
import Testing

/// Frames that cause work without making progress.
@Suite struct FloodTests {
  struct Flood: CustomTestStringConvertible, Sendable {
    let name: String
    let role: HTTP2Session.Role
    /// The frames before the flood.
    let first: [UInt8]
    /// One turn of the flood. `number` counts from 0.
    let turn: @Sendable (_ number: UInt32) -> [UInt8]
    /// How many turns the session must accept, and how many turns it may accept.
    let turns: ClosedRange<Int>

    init(
      _ name: String, _ role: HTTP2Session.Role, first: [UInt8] = [], _ turns: ClosedRange<Int>,
      _ turn: @escaping @Sendable (UInt32) -> [UInt8]
    ) {
      (self.name, self.role, self.first, self.turns, self.turn) = (name, role, first, turns, turn)
    }

    var testDescription: String { "\(name) to a \(role)" }
  }

  private static let response = [(":status", "200")]
  private static let wide = String(repeating: "x", count: 16_000)

  /// An open stream 1.
  private static func open(_ role: HTTP2Session.Role) -> [UInt8] {
    role == .server ? Raw.headers(1, post, Raw.endHeaders) : Raw.headers(1, response, Raw.endHeaders)
  }
  /// A closed stream 1.
  private static func closed(_ role: HTTP2Session.Role) -> [UInt8] {
    role == .server ? Raw.headers(1) + Raw.reset(1) : Raw.reset(1)
  }
  /// The begin of a header block on stream 1.
  private static func begin(_ role: HTTP2Session.Role) -> [UInt8] {
    Raw.headers(1, role == .server ? get : response, Raw.endStream)
  }

  private static func control(_ role: HTTP2Session.Role) -> [Flood] {
    [
      Flood("PING", role, 1000...5000) { _ in Raw.ping },
      Flood("unasked PING acknowledgements", role, 1000...5000) { _ in Raw.frame(6, 1, 0, [0, 0, 0, 0, 0, 0, 0, 0]) },
      Flood("SETTINGS", role, 100...1000) { Raw.settings([(4, 1000 + $0)]) },
      Flood("empty SETTINGS", role, 100...1000) { _ in Raw.settings() },
      Flood("PRIORITY", role, 1000...10_000) { Raw.frame(2, 0, 2 * $0 + 1, [0, 0, 0, 0, 1]) },
      Flood("WINDOW_UPDATE of the connection", role, 1000...10_000) { _ in Raw.windowUpdate(0, 1) },
      Flood("WINDOW_UPDATE of a closed stream", role, first: closed(role), 1000...10_000) { _ in Raw.windowUpdate(1, 1)
      },
      Flood("frames of unknown types", role, 1000...5000) { _ in Raw.frame(0xEE) },
      Flood("GOAWAY", role, first: open(role), 100...1000) { _ in Raw.goAway(last: 0) },
      Flood("large SETTINGS", role, 100...1000) { number in
        Raw.settings((0..<30).map { (4, number + $0) })
      },
      Flood("SETTINGS that change the table of header compression", role, 100...1000) { Raw.settings([(1, $0 % 2)]) },
      Flood("PRIORITY_UPDATE", role, 1000...10_000) { _ in Raw.frame(0x10, 0, 0, [0, 0, 0, 1] + [UInt8]("u=1".utf8)) },
    ]
  }

  private static func messages(_ role: HTTP2Session.Role) -> [Flood] {
    [
      Flood("empty DATA", role, first: open(role), 100...2000) { _ in Raw.data(1) },
      Flood("priorities of itself", role, 1000...10_000) { _ in Raw.frame(2, 0, 1, [0, 0, 0, 1, 1]) },
      Flood("padding", role, first: open(role), 1000...10_000) { _ in
        Raw.data(1, [255] + [UInt8](repeating: 0, count: 255), Raw.padded)
      },
      Flood("empty DATA on a closed stream", role, first: closed(role), 100...2000) { _ in Raw.data(1) },
      Flood("empty CONTINUATION", role, first: begin(role), 100...500) { _ in Raw.frame(9, 0, 1) },
      Flood("a header block without an end", role, first: begin(role), 4...40) {
        Raw.frame(9, 0, 1, Raw.block([("x-\($0)", wide)]))
      },
      Flood("a header block that is ignored", role, first: closed(role) + begin(role), 4...40) {
        Raw.frame(9, 0, 1, Raw.block([("x-\($0)", wide)]))
      },
    ]
  }

  private static let others: [Flood] = [
    Flood("rapid reset", .server, 100...1000) { Raw.headers(2 * $0 + 1) + Raw.reset(2 * $0 + 1) },
    Flood("resets by the server", .server, 100...1000) {
      Raw.headers(2 * $0 + 1, post, Raw.endHeaders) + Raw.windowUpdate(2 * $0 + 1, 0x7FFF_FFFF)
    },
    Flood("resets by the server because of content-length", .server, 100...1000) {
      Raw.headers(2 * $0 + 1, post + [("content-length", "1")], Raw.endHeaders) + Raw.data(2 * $0 + 1, [1, 2])
    },
    Flood("resets by the server because of trailers", .server, 100...1000) {
      Raw.headers(2 * $0 + 1, post, Raw.endHeaders) + Raw.headers(2 * $0 + 1, [("a", "b")], Raw.endHeaders)
    },
    Flood("resets by the server because of windows", .server, 100...1000) {
      Raw.headers(2 * $0 + 1, post, Raw.endHeaders) + Raw.windowUpdate(2 * $0 + 1, 0x7FFF_FFFF)
        + Raw.windowUpdate(2 * $0 + 1, 1)
    },
    Flood("resets of whole requests by the server", .server, 100...1000) {
      Raw.headers(2 * $0 + 1) + Raw.windowUpdate(2 * $0 + 1, 0x7FFF_FFFF)
    },
    Flood("rapid reset with data", .server, 100...1000) { number in
      let stream = 2 * number + 1
      return Raw.headers(stream, post, Raw.endHeaders) + (0..<12).flatMap { _ in Raw.data(stream, [1]) }
        + Raw.reset(stream)
    },
    Flood("malformed requests", .server, 100...1000) { Raw.headers(2 * $0 + 1, [("a", "b")]) },
    Flood("oversized requests", .server, 100...1000) { number in
      Raw.headers(2 * number + 1, get + (0..<130).map { ("x-\($0)", "") })
    },
    Flood("requests that begin with changes of the table's size", .server, 100...1000) { number in
      Raw.frame(1, 5, 2 * number + 1, [UInt8](repeating: 0x20, count: 1000)) + Raw.reset(2 * number + 1)
    },
    Flood("interim heads", .client, 500...1000) { _ in Raw.headers(1, [(":status", "103")], 4) },
  ]

  static let floods = control(.server) + control(.client) + messages(.server) + messages(.client) + others

  @Test(arguments: floods)
  func `T27: a flood ends the connection`(flood: Flood) throws {
    let raw = try RawPeer(flood.role)
    #expect(raw.exchange(flood.first).error == nil)
    for number in 0...flood.turns.upperBound {
      let (frames, error) = raw.exchange(flood.turn(UInt32(number)))
      guard let error else { continue }
      #expect(error.code == .enhanceYourCalm && error.endsConnection, "\(error)")
      #expect(frames.last?.type == 7 && frames.last?.code == .enhanceYourCalm)
      #expect(flood.turns.contains(number), "turn \(number)")
      #expect(error.description.hasPrefix("the peer sent"), "\(error)")
      return
    }
    Issue.record("the session accepted \(flood.turns.upperBound) turns")
  }

  @Test func `a peer that does not read is noticed`() throws {
    let raw = try RawPeer(.server)
    var error: HTTP2Error?
    var turns = 0
    while error == nil, turns < 4000 {
      turns += 1
      do { try raw.peer.receive(Raw.ping) } catch let failure as HTTP2Error { error = failure }
    }
    #expect(error?.code == .enhanceYourCalm && error?.description.contains("did not read") == true)
    // Few enough to stay below the other limit.
    #expect(turns > 3000 && turns < 4000)
  }

  @Test func `header blocks that take much memory at once end the connection`() throws {
    var limits = HTTP2Limits()
    limits.headerBlock = 32_768
    let (client, server) = (try Peer(.client, limits), try Peer(.server))
    let stream = try client.request()
    client.flush()
    try server.receive(client.output)
    server.flush()
    // Interim heads with one large field, which HPACK writes in few bytes from the second head on.
    for _ in 0..<40 {
      try server.respond(stream, [(":status", "103"), ("x", String(repeating: "a", count: 3_000))], endsStream: false)
    }
    let few = server.output
    try client.receive(few)
    server.output = []
    for _ in 0..<400 {
      try server.respond(stream, [(":status", "103"), ("x", String(repeating: "a", count: 3_000))], endsStream: false)
    }
    #expect(server.output.count < 32_768)
    #expect { try client.receive(server.output) } throws: { ($0 as? HTTP2Error)?.code == .enhanceYourCalm }
  }

  @Test(arguments: [HTTP2Session.Role.server, .client])
  func `windows of one byte end the connection`(role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    let window = Raw.settings([(4, 0)])
    #expect(raw.exchange(window + (role == .server ? Raw.headers(1, post, 4) : [])).error == nil)
    if role == .server { try raw.peer.respond(1, endsStream: false) }
    raw.peer.session.write([UInt8](repeating: 1, count: 100_000), on: 1)
    var (count, error) = (0, HTTP2Error?.none)
    while error == nil, count < 20_000 {
      count += 1
      error = raw.exchange(Raw.windowUpdate(1, 1)).error
    }
    #expect(error?.code == .enhanceYourCalm && (1000...10_000).contains(count), "\(count)")
  }

  @Test(arguments: [300, 15_000])
  func `a peer may open windows as the data arrives`(step: Int) throws {
    let raw = try RawPeer(.client)
    raw.peer.session.write([UInt8](repeating: 1, count: 300 * 20_000), on: 1)
    var left = 65_535
    for _ in 0..<20_000 where left >= 0 && raw.peer.session.queuedBytes(of: 1) > 0 {
      let (frames, error) = raw.exchange(Raw.windowUpdate(1, UInt32(step)) + Raw.windowUpdate(0, UInt32(step)))
      #expect(error == nil)
      left -= frames.isEmpty ? 1 : 0
    }
    #expect(raw.peer.session.queuedBytes(of: 1) == 0)
  }

  @Test func `SETTINGS frames cost more if there are many streams`() throws {
    var limits = HTTP2Limits()
    limits.streams = 1000
    let raw = try RawPeer(.server, limits)
    for number in 0..<UInt32(1000) { #expect(raw.exchange(Raw.headers(2 * number + 1, post, 4)).error == nil) }
    raw.peer.session.refill(seconds: 1000)
    var (count, error) = (0, HTTP2Error?.none)
    while error == nil, count < 1000 {
      count += 1
      error = raw.exchange(Raw.settings([(4, UInt32(count))])).error
    }
    #expect(error?.code == .enhanceYourCalm && (20...60).contains(count), "\(count)")
  }

  @Test func `many PING frames at once end the connection`() throws {
    let raw = try RawPeer(.server)
    let (frames, error) = raw.exchange((0..<2000).flatMap { _ in Raw.ping })
    #expect(error?.code == .enhanceYourCalm)
    #expect(frames.last?.code == .enhanceYourCalm)
  }

  @Test func `more streams than allowed are refused, and end the connection if the limit is known`() throws {
    var limits = HTTP2Limits()
    limits.streams = 2
    // The peer has not acknowledged the settings yet.
    let early = try Peer(.server, limits)
    try early.receive(Raw.preface + Raw.settings() + Raw.headers(1) + Raw.headers(3) + Raw.headers(5))
    early.flush()
    let refused = Raw.parse(early.output).filter { $0.type == 3 }
    #expect(refused.map(\.stream) == [5] && refused.first?.code == .refusedStream)
    #expect(early.session.openStreams == 2 && early.log.filter { $0.hasPrefix("head") } == ["head 1", "head 3"])

    let raw = try RawPeer(.server, limits)
    #expect(raw.exchange(Raw.headers(1) + Raw.headers(3) + Raw.headers(5)).error?.code == .protocolError)
  }

  @Test func `requests and data let a peer send control frames for ever`() throws {
    let pair = try HTTP2Pair()
    for turn in 0..<3000 {
      let id = try pair.client.request(endsStream: true)
      for _ in 0..<5 { pair.client.session.ping() }
      try pair.pump()
      try pair.server.respond(id)
      if turn % 2 == 0 { pair.server.session.ping() }
      try pair.pump()
    }
    // A long download causes two updates of windows for each DATA frame.
    pair.server.consumes = true
    let id = try pair.client.request(post, endsStream: false)
    for _ in 0..<2000 {
      pair.client.session.write([UInt8](repeating: 0, count: 16_000), on: id)
      try pair.pump()
    }
    #expect(pair.server.streams[id]?.body.count == 32_000_000)
  }

  @Test func `time lets a peer send keep-alive frames on an idle connection`() throws {
    let raw = try RawPeer(.server)
    for _ in 0..<20_000 {
      #expect(raw.exchange(Raw.ping).error == nil)
      raw.peer.session.refill(seconds: 10)
    }
    raw.peer.session.refill(seconds: .max)
    raw.peer.session.refill(seconds: -1)
  }

  @Test func `streams that are reset before they end cost, and others do not`() throws {
    let raw = try RawPeer(.server)
    for number in 0..<UInt32(2000) {
      let stream = 2 * number + 1
      #expect(raw.exchange(Raw.headers(stream)).error == nil)
      if number % 4 == 0 {
        #expect(raw.exchange(Raw.reset(stream)).error == nil)
      } else {
        try raw.peer.respond(HTTP2Session.StreamID(stream))
      }
    }
  }
}
