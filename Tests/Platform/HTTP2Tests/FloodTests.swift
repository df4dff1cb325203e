import HTTP2
import Testing

/// Frames that cause work without making progress.
@Suite struct FloodTests {
  struct Flood: CustomTestStringConvertible, Sendable {
    let name: String
    let role: HTTP2Session.Role
    /// What costs most points. `nil` if the limit of a header block stops the flood.
    let cost: HTTP2Budget.Cost?
    /// The frames before the flood.
    let first: [UInt8]
    /// How many turns the session must accept, and how many turns it may accept.
    let turns: ClosedRange<Int>
    /// What the session's own end does before a turn.
    let before: @Sendable (_ peer: Peer, _ number: UInt32) throws -> Void
    /// One turn of the flood. `number` counts from 0.
    let turn: @Sendable (_ number: UInt32) -> [UInt8]

    init(
      _ name: String, _ role: HTTP2Session.Role, _ cost: HTTP2Budget.Cost?, first: [UInt8] = [],
      _ turns: ClosedRange<Int>, before: @escaping @Sendable (Peer, UInt32) throws -> Void = { _, _ in },
      _ turn: @escaping @Sendable (UInt32) -> [UInt8]
    ) {
      (self.name, self.role, self.cost, self.first) = (name, role, cost, first)
      (self.turns, self.before, self.turn) = (turns, before, turn)
    }

    var testDescription: String { "\(name) to a \(role)" }

    /// The limits without the bound that stops the flood.
    var lifted: HTTP2Limits {
      var limits = FloodTests.limits
      if cost == nil { limits.headerBlock = 1 << 24 } else { limits.exempt = cost }
      return limits
    }

    /// Runs the flood until the connection ends.
    func run(_ limits: HTTP2Limits) throws -> (turns: Int, error: HTTP2Error, last: Raw.Frame?)? {
      let raw = try RawPeer(role, limits)
      #expect(raw.exchange(first).error == nil)
      for number in 0...turns.upperBound {
        try before(raw.peer, UInt32(number))
        let (frames, error) = raw.exchange(turn(UInt32(number)))
        if let error { return (number, error, frames.last) }
      }
      return nil
    }
  }

  private static let limits = {
    var limits = HTTP2Limits()
    limits.streams = 1000
    return limits
  }()

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
  /// A header block on stream 1 in which the value of the last field is missing.
  private static func beginField(_ role: HTTP2Session.Role) -> [UInt8] {
    let block = Raw.block((role == .server ? get : response) + [("x", wide)])
    return Raw.frame(1, Raw.endStream, 1, block.dropLast(wide.utf8.count))
  }

  private static func control(_ role: HTTP2Session.Role) -> [Flood] {
    [
      Flood("PING", role, .ping, 1000...5000) { _ in Raw.ping },
      Flood("unasked PING acknowledgements", role, .ping, 1000...5000) { _ in
        Raw.frame(6, 1, 0, [0, 0, 0, 0, 0, 0, 0, 0])
      },
      Flood("SETTINGS", role, .settings, 100...1000) { Raw.settings([(4, 1000 + $0)]) },
      Flood("empty SETTINGS", role, .settings, 100...1000) { _ in Raw.settings() },
      Flood("PRIORITY", role, .priority, 1000...10_000) { Raw.frame(2, 0, 2 * $0 + 1, [0, 0, 0, 0, 1]) },
      Flood("WINDOW_UPDATE of the connection", role, .windowUpdate, 1000...10_000) { _ in Raw.windowUpdate(0, 1) },
      Flood("WINDOW_UPDATE of a closed stream", role, .windowUpdate, first: closed(role), 1000...10_000) { _ in
        Raw.windowUpdate(1, 1)
      },
      Flood("frames of unknown types", role, .unknown, 1000...5000) { _ in Raw.frame(0xEE) },
      Flood("GOAWAY", role, .goAway, first: open(role), 100...1000) { _ in Raw.goAway(last: 0) },
      Flood("large SETTINGS", role, .settings, 100...1000) { number in
        Raw.settings((0..<30).map { (4, number + $0) })
      },
      Flood("SETTINGS that change the table of header compression", role, .settings, 100...1000) {
        Raw.settings([(1, $0 % 2)])
      },
      Flood("PRIORITY_UPDATE", role, .priority, 1000...10_000) { _ in
        Raw.frame(0x10, 0, 0, [0, 0, 0, 1] + [UInt8]("u=1".utf8))
      },
    ]
  }

  private static func messages(_ role: HTTP2Session.Role) -> [Flood] {
    [
      Flood("empty DATA", role, .emptyData, first: open(role), 100...2000) { _ in Raw.data(1) },
      Flood("priorities of itself", role, .priority, 1000...10_000) { _ in Raw.frame(2, 0, 1, [0, 0, 0, 1, 1]) },
      Flood("padding", role, .paddedData, first: open(role), 1000...10_000) { _ in
        Raw.data(1, [255] + [UInt8](repeating: 0, count: 255), Raw.padded)
      },
      Flood("empty DATA on a closed stream", role, .emptyData, first: closed(role), 100...2000) { _ in Raw.data(1) },
      Flood("HEADERS on a closed stream", role, .head, first: closed(role), 1000...5000) { _ in
        Raw.headers(1, role == .server ? get : response, Raw.endHeaders)
      },
      Flood("empty CONTINUATION", role, .emptyContinuation, first: begin(role), 100...500) { _ in Raw.frame(9, 0, 1) },
      Flood("CONTINUATION of one byte", role, .continuation, first: beginField(role), 1000...5000) { _ in
        Raw.frame(9, 0, 1, [0x78])
      },
      Flood(
        "CONTINUATION of one byte in a block that is ignored", role, .continuation,
        first: closed(role) + beginField(role), 1000...5000
      ) { _ in Raw.frame(9, 0, 1, [0x78]) },
      Flood("a header block without an end", role, nil, first: begin(role), 4...40) {
        Raw.frame(9, 0, 1, Raw.block([("x-\($0)", wide)]))
      },
      Flood("a header block that is ignored", role, nil, first: closed(role) + begin(role), 4...40) {
        Raw.frame(9, 0, 1, Raw.block([("x-\($0)", wide)]))
      },
      Flood(
        "windows of one byte", role, .windowUpdate,
        first: Raw.settings([(4, 0)]) + (role == .server ? Raw.headers(1, post, Raw.endHeaders) : []), 1000...10_000,
        before: { peer, number in
          guard number == 0 else { return }
          if role == .server { try peer.respond(1, endsStream: false) }
          peer.session.write([UInt8](repeating: 1, count: 100_000), on: 1)
        }
      ) { _ in Raw.windowUpdate(1, 1) },
    ]
  }

  private static let requests: [Flood] = [
    Flood(
      "SETTINGS with many open streams", .server, .settings,
      first: (0..<UInt32(1000)).flatMap { Raw.headers(2 * $0 + 1, post, Raw.endHeaders) }, 20...60
    ) { Raw.settings([(4, $0)]) },
    Flood(
      "requests after GOAWAY", .server, .head, first: open(.server), 1000...5000,
      before: { peer, number in if number == 0 { peer.session.goAway(.noError) } }
    ) { Raw.headers(2 * $0 + 3) },
    Flood("rapid reset", .server, .peerReset, 100...1000) { Raw.headers(2 * $0 + 1) + Raw.reset(2 * $0 + 1) },
    Flood("rapid reset with NO_ERROR", .server, .peerReset, 100...1000) {
      Raw.headers(2 * $0 + 1) + Raw.reset(2 * $0 + 1, 0)
    },
    Flood("rapid reset with data", .server, .peerReset, 100...1000) { number in
      let stream = 2 * number + 1
      return Raw.headers(stream, post, Raw.endHeaders) + (0..<12).flatMap { _ in Raw.data(stream, [1]) }
        + Raw.reset(stream)
    },
    Flood("requests that begin with changes of the table's size", .server, .peerReset, 100...1000) { number in
      let block = [UInt8](repeating: 0x20, count: 1000) + Raw.block(get)
      return Raw.frame(1, 5, 2 * number + 1, block) + Raw.reset(2 * number + 1)
    },
    Flood("resets by the server", .server, .ownReset, 100...1000) {
      Raw.headers(2 * $0 + 1, post, Raw.endHeaders) + Raw.windowUpdate(2 * $0 + 1, 0x7FFF_FFFF)
    },
    Flood("resets by the server because of content-length", .server, .ownReset, 100...1000) {
      Raw.headers(2 * $0 + 1, post + [("content-length", "1")], Raw.endHeaders) + Raw.data(2 * $0 + 1, [1, 2])
    },
    Flood("resets by the server because of trailers", .server, .ownReset, 100...1000) {
      Raw.headers(2 * $0 + 1, post, Raw.endHeaders) + Raw.headers(2 * $0 + 1, [("a", "b")], Raw.endHeaders)
    },
    Flood("resets by the server because of windows", .server, .ownReset, 100...1000) {
      Raw.headers(2 * $0 + 1, post, Raw.endHeaders) + Raw.windowUpdate(2 * $0 + 1, 0x7FFF_FFFF)
        + Raw.windowUpdate(2 * $0 + 1, 1)
    },
    Flood("resets of whole requests by the server", .server, .ownReset, 100...1000) {
      Raw.headers(2 * $0 + 1) + Raw.windowUpdate(2 * $0 + 1, 0x7FFF_FFFF)
    },
    Flood(
      "resets by the server after its response began", .server, .ownReset, 100...1000,
      before: { peer, number in if number > 0 { try peer.respond(.init(2 * number - 1), endsStream: false) } }
    ) {
      Raw.headers(2 * $0 + 1) + ($0 == 0 ? [] : Raw.windowUpdate(2 * $0 - 1, 0x7FFF_FFFF))
    },
    Flood(
      "resets by the server's owner", .server, .head, 1000...5000,
      before: { peer, number in if number > 0 { peer.session.reset(.init(2 * number - 1), .protocolError) } }
    ) { Raw.headers(2 * $0 + 1, post, Raw.endHeaders) },
    Flood("malformed requests", .server, .ownReset, 100...1000) { Raw.headers(2 * $0 + 1, [("a", "b")]) },
    Flood("oversized requests", .server, .ownReset, 100...1000) { number in
      Raw.headers(2 * number + 1, get + (0..<130).map { ("x-\($0)", "") })
    },
    Flood("interim heads", .client, .interim, 500...1000) { _ in Raw.headers(1, [(":status", "103")], 4) },
  ]

  /// Floods that other messages do not pay for.
  private static let mixed: [Flood] = [
    Flood("rapid reset between refused requests", .server, .peerReset, 500...2000, before: { try refuse($0, $1) }) {
      Raw.headers(6 * $0 + 1) + [6 * $0 + 3, 6 * $0 + 5].flatMap { Raw.headers($0) + Raw.reset($0) }
    },
    Flood(
      "rapid reset with NO_ERROR between refused requests", .server, .peerReset, 500...2000,
      before: { try refuse($0, $1) }
    ) {
      Raw.headers(6 * $0 + 1) + [6 * $0 + 3, 6 * $0 + 5].flatMap { Raw.headers($0) + Raw.reset($0, 0) }
    },
    Flood("rapid reset between refused uploads", .server, .peerReset, 500...2000, before: { try refuse($0, $1) }) {
      Raw.headers(6 * $0 + 1, post, Raw.endHeaders)
        + [6 * $0 + 3, 6 * $0 + 5].flatMap { Raw.headers($0) + Raw.reset($0) }
    },
    Flood(
      "malformed requests between refused requests", .server, .ownReset, 500...2000,
      before: { try refuse($0, $1) }
    ) {
      Raw.headers(6 * $0 + 1) + [6 * $0 + 3, 6 * $0 + 5].flatMap { Raw.headers($0, [("a", "b")]) }
    },
    Flood("PING between refused requests", .server, .ping, 1000...5000, before: { try refuse($0, $1) }) {
      Raw.headers(6 * $0 + 1) + (0..<10).flatMap { _ in Raw.ping }
    },
    Flood("SETTINGS between refused requests", .server, .settings, 1000...5000, before: { try refuse($0, $1) }) {
      Raw.headers(6 * $0 + 1) + Raw.settings() + Raw.settings()
    },
    Flood("PING between responses", .client, .ping, 500...2000, before: { peer, _ in _ = try peer.request() }) {
      Raw.headers(2 * $0 + 5, response) + (0..<20).flatMap { _ in Raw.ping }
    },
    Flood(
      "SETTINGS between responses with NO_ERROR", .client, .settings, 500...2000,
      before: { peer, _ in _ = try peer.request(post, endsStream: false) }
    ) {
      Raw.headers(2 * $0 + 5, response) + Raw.reset(2 * $0 + 5, 0) + (0..<3).flatMap { _ in Raw.settings() }
    },
  ]

  /// Refuses the request of the turn before, as a rule without an upstream does.
  private static func refuse(_ peer: Peer, _ number: UInt32) throws {
    guard number > 0 else { return }
    try refuse(peer, on: .init(6 * number - 5))
  }

  private static func refuse(_ peer: Peer, on stream: HTTP2Session.StreamID) throws {
    try peer.respond(stream, [(":status", "404")], endsStream: false)
    peer.session.write([1], on: stream)
    peer.session.end(stream)
    peer.flush()
    // As the owner does after a response to a part of a request.
    if !peer.session.hasEnded(stream) { peer.session.reset(stream, .noError) }
  }

  static let floods =
    control(.server) + control(.client) + messages(.server) + messages(.client) + requests + mixed

  @Test(arguments: floods)
  func `T27: a flood ends the connection`(flood: Flood) throws {
    let end = try #require(
      try flood.run(FloodTests.limits), "the session accepted \(flood.turns.upperBound) turns")
    #expect(end.error.code == .enhanceYourCalm && end.error.endsConnection, "\(end.error)")
    #expect(end.last?.type == 7 && end.last?.code == .enhanceYourCalm)
    #expect(flood.turns.contains(end.turns), "turn \(end.turns)")
    #expect(end.error.description.hasPrefix("the peer sent"), "\(end.error)")
  }

  /// So the test above fails for at least one flood if a bound is missing.
  @Test(arguments: floods)
  func `a flood is stopped by its bound alone`(flood: Flood) throws {
    let end = try flood.run(flood.lifted)
    #expect(end == nil, "turn \(end?.turns ?? 0): \(end?.error.description ?? "")")
  }

  @Test func `there is a flood for each cost`() {
    let costs = HTTP2Budget.Cost.allCases.filter { cost in !FloodTests.floods.contains { $0.cost == cost } }
    #expect(costs.isEmpty)
  }

  @Test(arguments: [true, false])
  func `a peer that does not read is noticed`(isLimited: Bool) throws {
    var limits = HTTP2Limits()
    if !isLimited { limits.queuedControlBytes = .max }
    let raw = try RawPeer(.server, limits)
    var error: HTTP2Error?
    var turns = 0
    while error == nil, turns < 4000 {
      turns += 1
      do { try raw.peer.receive(Raw.ping) } catch let failure as HTTP2Error { error = failure }
    }
    guard isLimited else {
      #expect(error == nil)
      return
    }
    #expect(error?.code == .enhanceYourCalm && error?.description.contains("did not read") == true)
    // Few enough to stay below the other limit.
    #expect(turns > 3000 && turns < 4000)
  }

  @Test(arguments: [true, false])
  func `header blocks that take much memory at once end the connection`(isLimited: Bool) throws {
    var limits = HTTP2Limits()
    limits.headerBlock = 32_768
    if !isLimited { limits.headerBlocks = 1 << 20 }
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
    if isLimited {
      #expect { try client.receive(server.output) } throws: { ($0 as? HTTP2Error)?.code == .enhanceYourCalm }
    } else {
      try client.receive(server.output)
    }
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
}
