import HTTP2
import TestSupport
import Testing

@Suite struct HTTP2SessionTests {
  @Test(arguments: [1, 5000])
  func `a request and a response with bodies and trailers arrive whole`(piece: Int) throws {
    let pair = try HTTP2Pair()
    pair.largestPiece = piece
    let id = try pair.client.request(
      post + [("te", "trailers"), ("x-long", String(repeating: "x", count: 300))], endsStream: false)
    pair.client.session.write([1, 2, 3], on: id)
    pair.client.session.write([4], on: id)
    pair.client.end(id, [("x-sum", "10")])
    try pair.pump()
    let request = try #require(pair.server.streams[id])
    #expect(request.heads.map(\.count) == [6])
    #expect(request.heads[0].first == ":method=POST")
    #expect(request.body == [1, 2, 3, 4])
    #expect(request.trailers == ["x-sum=10"])
    #expect(request.isEnded && pair.server.session.hasEnded(id))
    #expect(pair.client.streams[id]?.drained == 1)

    try pair.server.respond(id, [(":status", "103"), ("link", "</a>")], endsStream: false)
    try pair.server.respond(id, endsStream: false)
    pair.server.session.write([7, 8], on: id)
    try pair.pump()
    #expect(!pair.client.session.hasEnded(id))
    pair.server.end(id, [("grpc-status", "0")])
    try pair.pump()
    let response = try #require(pair.client.streams[id])
    #expect(response.heads == [[":status=103", "link=</a>"], [":status=200"]])
    #expect(response.body == [7, 8] && response.trailers == ["grpc-status=0"] && response.isEnded)
    #expect(response.failure == nil && pair.server.streams[id]?.failure == nil)
    #expect(pair.client.session.openStreams == 0 && pair.server.session.openStreams == 0)
  }

  @Test func `a large head arrives whole`() throws {
    let pair = try HTTP2Pair()
    let fields = (0..<50).map { ("x-\($0)", String(repeating: "~", count: 1000)) }
    let id = try pair.client.request(get + fields)
    #expect(Raw.parse(pair.client.output).map(\.type).suffix(4) == [1, 9, 9, 9])
    try pair.pump()
    #expect(pair.server.streams[id]?.heads == [(get + fields).map { "\($0)=\($1)" }])
    try pair.server.respond(id, [(":status", "200")] + fields)
    try pair.pump()
    #expect(pair.client.streams[id]?.heads.first?.count == 51 && pair.client.streams[id]?.isEnded == true)
  }

  @Test func `an oversized head ends its stream only, and later heads are decoded`() throws {
    var limits = HTTP2Limits()
    limits.headerBlock = 10_000
    let pair = try HTTP2Pair(client: limits, server: limits)
    let small = get + [("x-a", "1")]
    for large in [
      (0..<130).map { ("x-\($0)", "v\($0)") },
      [("x-b", String(repeating: "b", count: 2000)), ("x-c", String(repeating: "c", count: 9000))],
    ] {
      let id = try pair.client.request(get + large + [("x-a", "1")])
      try pair.pump()
      #expect(pair.client.streams[id]?.failure == .enhanceYourCalm && pair.server.streams[id] == nil)
      // These fields are indices of the table that the large head has changed.
      let next = try pair.client.request(small + large.suffix(20).filter { $0.1.count < 9000 })
      try pair.pump()
      #expect(pair.server.streams[next]?.heads.first?[4] == "x-a=1")

      // Responses may have more fields.
      try pair.server.respond(next, [(":status", "200")] + large)
      try pair.pump()
      let isTooLarge = large.count < 10
      #expect(pair.client.streams[next]?.failure == (isTooLarge ? .enhanceYourCalm : nil))
      #expect(pair.client.streams[next]?.heads.count == (isTooLarge ? 0 : 1))
    }
  }

  @Test(arguments: [HTTP2Session.Role.server, .client])
  func `a small header block that decodes to a large one ends its stream`(role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    // One entry of the table with 4,000 bytes (RFC 7541 section 6.2.1), and 12,000 references to this entry.
    let entry: [UInt8] = [0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + [UInt8](repeating: 0x62, count: 4000)
    let bomb = Raw.block(role == .server ? get : [(":status", "200")]) + entry + [UInt8](repeating: 0xBE, count: 12_000)
    let (frames, error) = raw.exchange(Raw.frame(1, 5, 1, bomb))
    #expect(error == nil && frames.map(\.code) == [.enhanceYourCalm])
    // The table is in order.
    let next = Raw.block(role == .server ? get : [(":status", "200")]) + [0xBE]
    #expect(raw.exchange(Raw.frame(1, 5, 3, next)).error == nil)
    #expect(raw.peer.streams[3]?.heads.first?.last == "a=" + String(repeating: "b", count: 4000))
  }

  @Test func `random changes of frames never trap`() throws {
    var generator = SeededGenerator(state: 1)
    let requests =
      Raw.headers(1, post, 4) + Raw.data(1, [1, 2, 3]) + Raw.headers(1, [("a", "b")]) + Raw.headers(3, get, 1)
    let responses =
      Raw.headers(1, [(":status", "103")], 4) + Raw.headers(1, [(":status", "200")], 4) + Raw.data(1, [1], 1)
    let control =
      Raw.ping + Raw.settings([(1, 0), (3, 9), (4, 100)]) + Raw.windowUpdate(0, 9) + Raw.frame(9, 4, 3) + Raw.reset(3)
      + Raw.goAway(last: 0)
    for turn in 0..<3000 {
      let role = turn % 2 == 0 ? HTTP2Session.Role.server : .client
      let raw = try RawPeer(role)
      var bytes = (role == .server ? requests : responses) + control
      for _ in 0...Int.random(in: 0..<4, using: &generator) {
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        default: bytes.remove(at: index)
        }
      }
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = [UInt8](rest.prefix(Int.random(in: 1...60, using: &generator)))
        rest = rest.dropFirst(piece.count)
        if raw.exchange(piece).error != nil { break }
        if role == .server { try? raw.peer.respond(1, endsStream: false) }
        raw.peer.session.write([1, 2], on: 1)
      }
      raw.peer.session.end(1)
      _ = raw.exchange([])
    }
  }
}
