import HTTP2
import Testing

/// Peers that make progress never run out of points.
@Suite struct UsefulTrafficTests {
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

  @Test(arguments: [0, 8] as [UInt32])
  func `a client may cancel calls that were answered`(code: UInt32) throws {
    let raw = try RawPeer(.server)
    for number in 0..<UInt32(5000) {
      let stream = 2 * number + 1
      #expect(raw.exchange(Raw.headers(stream, post, Raw.endHeaders) + Raw.data(stream, [1])).error == nil)
      try raw.peer.respond(.init(stream), endsStream: false)
      #expect(raw.exchange(Raw.reset(stream, code)).error == nil)
    }
  }

  @Test func `a client may cancel as many requests as it completes`() throws {
    let raw = try RawPeer(.server)
    for number in 0..<UInt32(5000) {
      let stream = 4 * number + 1
      #expect(raw.exchange(Raw.headers(stream) + Raw.headers(stream + 2) + Raw.reset(stream + 2)).error == nil)
      try raw.peer.respond(.init(stream))
    }
  }

  @Test func `a client may send requests and uploads that are refused`() throws {
    let raw = try RawPeer(.server)
    for number in 0..<UInt32(5000) {
      let (stream, upload) = (4 * number + 1, 4 * number + 3)
      #expect(raw.exchange(Raw.headers(stream) + Raw.headers(upload, post, Raw.endHeaders)).error == nil)
      for stream in [stream, upload] { try raw.peer.respond(.init(stream), [(":status", "404")]) }
      raw.peer.session.reset(.init(upload), .noError)
      // The client has not got the end of the stream yet.
      #expect(raw.exchange(Raw.data(upload, [1]) + Raw.reset(upload)).error == nil)
    }
  }

  @Test func `a client may answer each message of a long call`() throws {
    let raw = try RawPeer(.server)
    #expect(raw.exchange(Raw.headers(1, post, Raw.endHeaders)).error == nil)
    try raw.peer.respond(1, endsStream: false)
    for _ in 0..<20_000 {
      raw.peer.session.write([1, 2, 3], on: 1)
      raw.peer.flush()
      #expect(raw.exchange(Raw.data(1, [1]) + Raw.windowUpdate(1, 3) + Raw.windowUpdate(0, 3)).error == nil)
    }
  }

  @Test func `an upstream may send interim heads, trailers and PING with each response`() throws {
    let raw = try RawPeer(.client)
    for number in 0..<UInt32(5000) {
      let stream = 2 * number + 5
      _ = try raw.peer.request(post, endsStream: false)
      let interim = Raw.headers(stream, [(":status", "103")], Raw.endHeaders)
      let head = Raw.headers(stream, [(":status", "200")], Raw.endHeaders)
      #expect(raw.exchange(interim + head + Raw.headers(stream, [("grpc-status", "0")]) + Raw.ping).error == nil)
      // RFC 9113 section 8.1: the rest of the request is not needed.
      #expect(raw.exchange(Raw.reset(stream, 0)).error == nil)
    }
  }

  @Test func `an upstream may answer calls that are cancelled`() throws {
    let raw = try RawPeer(.client)
    for number in 0..<UInt32(5000) {
      let stream = 2 * number + 5
      _ = try raw.peer.request()
      raw.peer.session.reset(.init(stream), .cancel)
      #expect(raw.exchange(Raw.headers(stream, [(":status", "200")]) + Raw.reset(stream)).error == nil)
    }
  }
}
