import HTTP1
import HTTP2
import Testing

/// A client and a server, joined in memory. Bytes travel in pieces of random sizes.
final class HTTP2Pair {
  let client: Peer
  let server: Peer
  private var generator = SystemRandomNumberGenerator()
  /// Largest piece. 1 splits at every byte.
  var largestPiece = 5000

  init(client: HTTP2Limits = HTTP2Limits(), server: HTTP2Limits = HTTP2Limits()) throws {
    self.client = try Peer(.client, client)
    self.server = try Peer(.server, server)
  }

  /// Moves bytes in both directions until there are none.
  func pump() throws {
    repeat {
      client.flush()
      server.flush()
      try move(from: client, to: server)
      try move(from: server, to: client)
      client.flush()
      server.flush()
    } while !client.output.isEmpty || !server.output.isEmpty
  }

  private func move(from: Peer, to: Peer) throws {
    var bytes = from.output[...]
    from.output = []
    while !bytes.isEmpty {
      let piece = bytes.prefix(Int.random(in: 1...largestPiece, using: &generator))
      bytes = bytes.dropFirst(piece.count)
      try to.receive([UInt8](piece))
    }
  }
}

/// One end: a session, the bytes that wait for the other end, and what has happened.
final class Peer {
  let session: HTTP2Session
  var output: [UInt8] = []
  var streams: [HTTP2Session.StreamID: Message] = [:]
  /// All events in words.
  var log: [String] = []
  /// Whether data is used at once.
  var consumes = true

  /// What arrived on a stream.
  struct Message: Equatable {
    var heads: [[String]] = []
    var body: [UInt8] = []
    var trailers: [String]?
    var isEnded = false
    var failure: HTTP2Code?
    var drained = 0
  }

  init(_ role: HTTP2Session.Role, _ limits: HTTP2Limits = HTTP2Limits()) throws {
    session = try HTTP2Session(role, limits: limits)
  }

  func flush() {
    try? session.send { output += $0 }
    takeEvents(of: [])
  }

  func receive(_ bytes: [UInt8]) throws {
    do { try session.receive(bytes.span) } catch {
      takeEvents(of: bytes)
      throw error
    }
    takeEvents(of: bytes)
  }

  private func takeEvents(of bytes: [UInt8]) {
    while let event = session.nextEvent() { note(event, bytes) }
  }

  func note(_ event: HTTP2Event, _ bytes: [UInt8]) {
    switch event {
    case .head(let id, let block):
      streams[id, default: Message()].heads.append(block.words)
      log.append("head \(id)")
    case .data(let id, let range):
      streams[id, default: Message()].body += bytes[range]
      if consumes { session.consumed(range.count, of: id) }
    case .trailers(let id, let block): streams[id, default: Message()].trailers = block.words
    case .end(let id): streams[id, default: Message()].isEnded = true
    case .failed(let id, let code, _):
      #expect(streams[id]?.failure == nil)
      streams[id, default: Message()].failure = code
      log.append("failed \(id) \(code)")
    case .drained(let id): streams[id, default: Message()].drained += 1
    case .settings: log.append("settings")
    case .goAway(let last, let code): log.append("goAway \(last) \(code)")
    case .refused(let id, let error): log.append("refused \(id) \(error.reason) \(error.fault)")
    case .pong: log.append("pong")
    }
  }

  func request(_ fields: [(String, String)] = get, endsStream: Bool = true) throws -> HTTP2Session.StreamID {
    try withFields(fields) { fields throws(HTTP2Error) in
      try session.sendRequest(fields, endsStream: endsStream) { output += $0 }
    }
  }

  func respond(
    _ id: HTTP2Session.StreamID, _ fields: [(String, String)] = [(":status", "200")], endsStream: Bool = true
  ) throws {
    try withFields(fields) { fields throws(HTTP2Error) in
      try session.sendResponse(fields, on: id, endsStream: endsStream) { output += $0 }
    }
  }

  func end(_ id: HTTP2Session.StreamID, _ trailers: [(String, String)]) {
    withFields(trailers) { session.end(id, trailers: $0) }
  }
}

let get = [(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")]
let post = [(":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")]

/// Calls `body` with fields in memory that is freed afterwards. Fields whose name begins with `!` are sensitive.
func withFields<R, E>(_ fields: [(String, String)], _ body: ([HTTP2Field]) throws(E) -> R) throws(E) -> R {
  var blocks: [UnsafeMutableRawBufferPointer] = []
  func copy(_ text: String) -> UnsafeRawBufferPointer {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
    block.copyBytes(from: text.utf8)
    blocks.append(block)
    return UnsafeRawBufferPointer(block)
  }
  defer {
    for block in blocks {
      block.initializeMemory(as: UInt8.self, repeating: 0xEE)
      block.deallocate()
    }
  }
  return try body(
    fields.map { name, value in
      let isSensitive = name.hasPrefix("!")
      return HTTP2Field(
        name: copy(isSensitive ? String(name.dropFirst()) : name), value: copy(value), isSensitive: isSensitive)
    })
}

extension HeaderBlock {
  /// Each field as `name=value`.
  var words: [String] {
    lines.map {
      String(decoding: bytes[$0.name], as: UTF8.self) + "=" + String(decoding: bytes[$0.value], as: UTF8.self)
    }
  }
}

extension HTTP2Session {
  func write(_ bytes: [UInt8], on id: StreamID) { write(bytes.span, on: id) }
  func receive(_ bytes: [UInt8]) throws { try receive(bytes.span) }
}
