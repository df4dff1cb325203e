import HTTP1
import HTTP2
import Primitives
import TestSupport

/// Reads the input as the bytes of an HTTP/2 connection. The bits of the first byte select the role, and how the owner of the
/// session behaves. The second byte selects what the owner does.
func fuzzFrames(_ bytes: [UInt8]) {
  guard bytes.count >= 2 else { return }
  let (mode, seed) = (bytes[0], UInt64(bytes[1]))
  let input = Array(bytes.dropFirst(2))
  let role: HTTP2Session.Role = mode & 1 == 0 ? .server : .client
  if mode & 2 == 0 {
    let whole = End(role, hasPreface: mode & 4 == 0, seed: nil)
    whole.receive(input, [input.count])
    // After GOAWAY, the connection can be over at once, and its later bytes are not read.
    if whole.log[0]?.contains(where: { $0.hasPrefix("goAway") }) == true { return }
    for ends in waysToCut(input) {
      let other = End(role, hasPreface: mode & 4 == 0, seed: nil)
      other.receive(input, ends)
      // A stream that this end resets ends later if the bytes arrive together, and a fault hides events that arrived with it.
      let isSteady = !whole.hasReset && !other.hasReset
      promise(!isSteady || (other.error == nil) == (whole.error == nil), "an error depends on the cuts at \(ends)")
      for (stream, events) in whole.log {
        let others = other.log[stream] ?? []
        let isSame =
          isSteady && whole.error == nil
          ? others == events : isBeginning(others, of: events) || isBeginning(events, of: others)
        promise(isSame, "the events of \(stream) depend on the cuts at \(ends): \(others) \(events)")
      }
    }
  } else {
    let ends = waysToCut(input).last ?? []
    End(role, hasPreface: mode & 4 == 0, seed: seed).receive(input, ends)
  }
}

/// Whether the events begin like others, except for data and failures.
private func isBeginning(_ events: [String], of others: [String]) -> Bool {
  func isCompared(_ event: String) -> Bool { event != "data" && !event.hasPrefix("failed") }
  return others.filter(isCompared).starts(with: events.filter(isCompared))
}

/// A session and its owner.
private final class End {
  private let role: HTTP2Session.Role
  private let session: HTTP2Session
  private var limits = HTTP2Limits()
  /// `nil` for an owner that only uses what arrives.
  private var random: SeededGenerator?
  private var streams: [HTTP2Session.StreamID: Stream] = [:]
  /// Events by stream. 0 for the events of the connection.
  private(set) var log: [HTTP2Session.StreamID: [String]] = [:]
  private(set) var error: UInt32?
  /// Whether this end has reset a stream.
  var hasReset: Bool { output.hasReset }
  private var output = Output()

  private struct Stream {
    var hasFinalHead = false
    var hasTrailers = false
    var isEnded = false
    var isOver = false
    var hasEndedBody = false
    var unused = 0
    var queued = 0
  }

  init(_ role: HTTP2Session.Role, hasPreface: Bool, seed: UInt64?) {
    self.role = role
    random = seed.map { SeededGenerator(state: $0) }
    limits.streams = 8
    limits.streamWindow = 65_535
    limits.headerBlock = 2048
    limits.requestFields = 16
    limits.responseFields = 16
    do throws(HTTP2Error) { session = try HTTP2Session(role, limits: limits) } catch { preconditionFailure() }
    output.skipsPreface = role == .client
    if role == .client { for _ in 0..<3 { request() } }
    if hasPreface {
      let preface = role == .server ? bytesOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") : []
      receive(preface + [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0], nil)
    }
  }

  func receive(_ input: [UInt8], _ ends: [Int]?) {
    for piece in pieces(input, ends ?? [input.count]) {
      do throws(HTTP2Error) {
        try session.receive(piece.span)
        promise(error == nil, "bytes were accepted after an error")
      } catch {
        promise(error.endsConnection && session.isOver, "the connection goes on after \(error)")
        self.error = self.error ?? error.code.rawValue
      }
      takeEvents(piece)
      flush()
      promise(session.openStreams >= 0, "\(session.openStreams) streams")
      promise(role == .client || session.openStreams <= limits.streams, "\(session.openStreams) streams are open")
      if error != nil { break }
    }
    act(on: nil)
    flush()
  }

  private func flush() {
    do throws(HTTP2Error) { try session.send { output.append($0) } } catch {
      self.error = self.error ?? error.code.rawValue
    }
    takeEvents([])
    promise(error == nil || output.hasGoAway || error == HTTP2Code.internalError.rawValue, "no GOAWAY after an error")
  }

  // MARK: events

  private func takeEvents(_ piece: [UInt8]) {
    while let event = session.nextEvent() {
      switch event {
      case .head(let id, let block): head(block, id)
      case .data(let id, let range): data(piece, range, id)
      case .trailers(let id, let block):
        update(id) {
          promise($0.hasFinalHead && !$0.hasTrailers && !$0.isEnded, "trailers at the wrong time")
          $0.hasTrailers = true
        }
        check(block, start: nil) { text throws(MessageError) in try block.writeTrailers(to: &text) }
        log[id, default: []].append("trailers \(block.lines.count)")
      case .end(let id):
        update(id) {
          promise($0.hasFinalHead && !$0.isEnded, "an end at the wrong time")
          $0.isEnded = true
        }
        log[id, default: []].append("end")
      case .failed(let id, let code, _):
        update(id) { $0.isOver = true }
        if error == nil { log[id, default: []].append("failed \(code)") }
      case .drained(let id): promise(session.queuedBytes(of: id) >= 0, "a queue of less than nothing")
      case .settings: log[0, default: []].append("settings")
      case .goAway(let last, let code): log[0, default: []].append("goAway \(last) \(code)")
      case .refused(let id, let error): log[id, default: []].append("refused \(error)")
      case .pong: log[0, default: []].append("pong")
      }
      if random != nil { act(on: event) }
    }
  }

  private func update(_ id: HTTP2Session.StreamID, _ change: (inout Stream) -> Void) {
    promise(streams[id]?.isOver == false, "an event of stream \(id), which is over or unknown")
    change(&streams[id]!)
  }

  private func head(_ block: HeaderBlock, _ id: HTTP2Session.StreamID) {
    if role == .server {
      promise(streams[id] == nil && id % 2 == 1, "stream \(id) begins twice")
      streams[id] = Stream()
    }
    update(id) { stream in
      promise(!stream.hasFinalHead, "a second head")
      let isInterim = role == .client && block.lines.first.map { block.bytes[$0.value].first == 0x31 } == true
      stream.hasFinalHead = !isInterim
    }
    promise(block.size <= limits.headerBlock && block.lines.count <= 16, "a head of \(block.size) bytes")
    if role == .server {
      for hasBody in [false, true] {
        check(block, start: 1) { text throws(MessageError) in try block.writeRequest(hasBody: hasBody, to: &text) }
      }
    } else {
      check(block, start: 1) { text throws(MessageError) in try block.writeResponse(to: &text) }
    }
    log[id, default: []].append("head \(block.lines.count)")
  }

  /// Checks that the text of a block is one message for every parser, with the fields of the block.
  private func check(_ block: HeaderBlock, start: Int?, _ write: (inout ByteBuffer) throws(MessageError) -> Void) {
    var text = ByteBuffer()
    do throws(MessageError) { try write(&text) } catch {
      promise(text.isEmpty, "a refused block leaves a text")
      return
    }
    let bytes = (start == nil ? bytesOf("X\r\n") : []) + Array(text.contents)
    let wire = Wire(bytes, "the text of a block")
    promise(wire.count == bytes.count, "more than a head: \(shown(bytes))")
    var own = Set(["host", "cookie", "content-length", "transfer-encoding", "connection", "upgrade"].map(bytesOf))
    // An extended CONNECT becomes an upgrade with a key of bearerd's (RFC 8441 section 5).
    if block.lines.contains(where: { Array(block.bytes[$0.name]) == bytesOf(":protocol") }) {
      own.insert(bytesOf("sec-websocket-key"))
    }
    for line in block.lines where block.bytes[line.name].first != UInt8(ascii: ":") {
      let name = Array(block.bytes[line.name])
      if own.contains(name) { continue }
      let value = trimmed(Array(block.bytes[line.value]))
      promise(wire.fields.contains { $0.name == name && trimmed($0.value) == value }, "a lost field: \(shown(bytes))")
    }
    let names = Set(block.lines.map { Array(block.bytes[$0.name]) })
    for field in wire.fields {
      promise(names.contains(field.name) || own.contains(field.name), "a new field: \(shown(bytes))")
    }
  }

  private func trimmed(_ value: [UInt8]) -> [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    return Array(value.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }

  private func data(_ piece: [UInt8], _ range: Range<Int>, _ id: HTTP2Session.StreamID) {
    promise(range.lowerBound >= 0 && range.upperBound <= piece.count, "data at \(range) of \(piece.count)")
    update(id) { stream in
      promise(stream.hasFinalHead && !stream.isEnded && !stream.hasTrailers, "data at the wrong time")
      stream.unused += range.count
      promise(stream.unused <= limits.streamWindow, "\(stream.unused) bytes arrived, and were not used")
    }
    // One entry, however the bytes are cut.
    if log[id]?.last != "data", !range.isEmpty { log[id, default: []].append("data") }
    if random == nil || Bool.random(using: &random!) {
      session.consumed(range.count, of: id)
      streams[id]?.unused -= range.count
    }
  }

  // MARK: the owner

  private func act(on event: HTTP2Event?) {
    guard var random else { return }
    defer { self.random = random }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let id = streams.keys.sorted().randomElement(using: &random) ?? 1
      switch Int.random(in: 0...11, using: &random) {
      case 0...2 where role == .server:
        respond(id, isInterim: Bool.random(using: &random), ends: Bool.random(using: &random))
      case 0 where role == .client: request()
      case 3, 4:
        session.write([UInt8](repeating: 7, count: Int.random(in: 0...40_000, using: &random)).span, on: id)
      case 5: withFields([("x", "y")]) { session.end(id, trailers: Bool.random(using: &random) ? $0 : []) }
      case 6:
        session.reset(id, .cancel)
        streams[id]?.isOver = true
      case 7: session.ping()
      case 8 where Int.random(in: 0...9, using: &random) == 0: session.goAway(.noError)
      case 9: session.refill(seconds: 1)
      case 10:
        session.consumed(streams[id]?.unused ?? 5, of: id)
        streams[id]?.unused = 0
      default: break
      }
      promise(session.queuedBytes(of: id) >= 0, "a queue of less than nothing")
    }
  }

  private func request() {
    withFields([(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/")]) { fields in
      do throws(HTTP2Error) {
        let id = try session.sendRequest(fields, endsStream: false) { output.append($0) }
        promise(streams[id] == nil, "stream \(id) begins twice")
        streams[id] = Stream()
      } catch {
        promise(!error.endsConnection || session.isOver, "the connection goes on after \(error)")
      }
    }
  }

  private func respond(_ id: HTTP2Session.StreamID, isInterim: Bool, ends: Bool) {
    withFields([(":status", isInterim ? "103" : "200")]) { fields in
      do throws(HTTP2Error) {
        try session.sendResponse(fields, on: id, endsStream: ends && !isInterim) { output.append($0) }
      } catch {
        promise(!error.endsConnection || session.isOver, "the connection goes on after \(error)")
      }
    }
  }
}

private func withFields(_ pairs: [(String, String)], _ body: ([HTTP2Field]) -> Void) {
  let bytes = pairs.flatMap { Array($0.0.utf8) + Array($0.1.utf8) }
  bytes.withUnsafeBytes { bytes in
    var start = 0
    func next(_ text: String) -> UnsafeRawBufferPointer {
      defer { start += text.utf8.count }
      return UnsafeRawBufferPointer(rebasing: bytes[start..<start + text.utf8.count])
    }
    body(pairs.map { HTTP2Field(name: next($0.0), value: next($0.1)) })
  }
}

/// The bytes for the peer, which must be whole frames.
private struct Output {
  var skipsPreface = false
  private(set) var hasGoAway = false
  private var rest: [UInt8] = []
  private var reset: Set<UInt32> = []
  var hasReset: Bool { !reset.isEmpty }
  /// The stream whose header block is not complete.
  private var openBlock: UInt32?

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    rest += bytes
    if skipsPreface {
      guard rest.count >= 24 else { return }
      promise(rest.starts(with: bytesOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), "another preface")
      rest.removeFirst(24)
      skipsPreface = false
    }
    while rest.count >= 9 {
      let length = Int(rest[0]) << 16 | Int(rest[1]) << 8 | Int(rest[2])
      promise(length <= 16_384, "a frame of \(length) bytes")
      guard rest.count >= 9 + length else { return }
      let stream = rest[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
      check(type: rest[3], flags: rest[4], stream, length)
      rest.removeFirst(9 + length)
    }
  }

  private mutating func check(type: UInt8, flags: UInt8, _ stream: UInt32, _ length: Int) {
    promise(openBlock == nil || type == 9 && openBlock == stream, "a header block is interrupted by type \(type)")
    switch type {
    case 0: promise(stream != 0 && !reset.contains(stream), "DATA on stream \(stream)")
    case 1, 9:
      promise(stream != 0 && !reset.contains(stream), "a head on stream \(stream)")
      openBlock = flags & 4 == 0 ? stream : nil
    case 3: promise(stream != 0 && length == 4 && reset.insert(stream).inserted, "stream \(stream) is reset twice")
    case 4: promise(stream == 0 && length % 6 == 0, "SETTINGS of \(length) bytes")
    case 6: promise(stream == 0 && length == 8, "PING of \(length) bytes")
    case 7:
      promise(stream == 0 && length >= 8, "GOAWAY of \(length) bytes")
      hasGoAway = true
    case 8: promise(length == 4, "WINDOW_UPDATE of \(length) bytes")
    default: promise(false, "a frame of type \(type)")
    }
  }
}
