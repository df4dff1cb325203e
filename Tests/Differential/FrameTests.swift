import Foundation
import HTTP1
import HTTP2
import Primitives
import TestSupport
import Testing

/// T27: hyper-h2 reads the same messages from the same frames, for both ends of a connection. The comparison of a connection ends
/// with the first error of one of both.
@Suite struct FrameTests {
  private struct Answer: Decodable {
    /// The events of each frame: a kind, a stream, and its fields or its size.
    let events: [[Event]]
    let error: String?
  }

  private struct Event: Decodable, Equatable, CustomStringConvertible {
    let kind: String
    let stream: Int
    let words: [String]

    init(_ kind: String, _ stream: Int32, _ words: [String] = []) {
      (self.kind, self.stream, self.words) = (kind, Int(stream), words)
    }

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      (kind, stream) = (try list.decode(String.self), try list.decode(Int.self))
      words = try list.decode([String].self)
    }

    var description: String { "\(kind) \(stream) \(words)" }
  }

  // MARK: frames

  private typealias Fields = [(String, String)]

  private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
    let length = payload.count
    return [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags] + number(stream)
      + payload
  }

  private static func number(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  /// Literal fields without indexing (RFC 7541 section 6.2.2), and some with indexing.
  private static func block(_ fields: Fields, indexed: Bool = false) -> [UInt8] {
    fields.flatMap { name, value in
      [indexed ? 0x40 : 0, UInt8(name.unicodeScalars.count)] + latin1(name) + [UInt8(value.unicodeScalars.count)]
        + latin1(value)
    }
  }

  private static let post: Fields = [
    (":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/"),
  ]
  private static let ok: Fields = [(":status", "200")]

  private static let names = [
    "x", "y", "host", "cookie", "content-length", "transfer-encoding", "te", "connection", "upgrade", "keep-alive",
    "proxy-connection", ":method", ":path", ":scheme", ":authority", ":protocol", ":status", "", ":", "x:y", "x y",
    "X", "Host", "\0", "\u{80}", "x\n", "x\r\ny", "set-cookie", "(x)",
  ]
  private static let values = [
    "", "a", "a b", "a.test", "b.test", "a=1", "5", "0", "1", "chunked", "trailers", "gzip", "GET", "POST", "/",
    "/a?b", "*", "OPTIONS", "CONNECT", "HEAD", "http", "https", "websocket", "200", "204", "304", "101", "103", "99",
    " a", "a\t", "a\r\nx: y", "a\nb", "\0", "\u{7F}", "\u{FF}", "/ HTTP/1.1\r\nx: y", "http://a/", "u@a.test", "G T",
    "/a b", "/a#b", "x",
  ]

  private static func fields(_ valid: Fields, _ random: inout SeededGenerator) -> Fields {
    var fields = valid
    for _ in 0..<[0, 0, 0, 0, 0, 1, 1, 2].randomElement(using: &random)! {
      let index = Int.random(in: 0...fields.count, using: &random)
      let field = (names.randomElement(using: &random)!, values.randomElement(using: &random)!)
      switch Int.random(in: 0...4, using: &random) {
      case 0 where index < fields.count: fields.remove(at: index)
      case 1 where index < fields.count: fields[index].1 = field.1
      case 2: fields.insert(field, at: index)
      default: fields.append(field)
      }
    }
    return fields
  }

  private static func messages(_ isClient: Bool, _ random: inout SeededGenerator) -> [[UInt8]] {
    var frames: [[UInt8]] = []
    for stream: UInt32 in [1, 3] {
      let indexed = Bool.random(using: &random)
      let head = block(fields(isClient ? ok : post, &random), indexed: indexed)
      let ends = Int.random(in: 0...2, using: &random) == 0
      if Int.random(in: 0...3, using: &random) == 0 {
        let cut = Int.random(in: 0...head.count, using: &random)
        frames.append(frame(1, ends ? 1 : 0, stream, Array(head[..<cut])))
        frames.append(frame(9, 4, stream, Array(head[cut...])))
      } else {
        frames.append(frame(1, ends ? 5 : 4, stream, head))
      }
      if ends { continue }
      for _ in 0..<Int.random(in: 0...2, using: &random) { frames.append(frame(0, 0, stream, latin1("hello"))) }
      if Bool.random(using: &random) {
        frames.append(frame(0, 1, stream, latin1("x")))
      } else {
        frames.append(frame(1, 5, stream, block(fields([("x", "y")], &random))))
      }
    }
    return frames
  }

  private static let control: [[UInt8]] = [
    frame(6, 0, 0, latin1("12345678")), frame(6, 1, 0, latin1("12345678")), frame(4, 0, 0, [0, 4, 0, 0, 1, 0]),
    frame(4, 0, 0, [0, 1, 0, 0, 0, 0]), frame(4, 0, 0, [0, 2, 0, 0, 0, 1]), frame(4, 0, 0, [0, 5, 0, 0, 0, 0]),
    frame(4, 1, 0),
    frame(8, 0, 0, number(1)), frame(8, 0, 1, number(0x7FFF_FFFF)), frame(8, 0, 1, number(0)),
    frame(8, 0, 0, number(0)),
    frame(3, 0, 1, number(8)), frame(3, 0, 3, number(0)), frame(2, 0, 1, [0, 0, 0, 0, 1]), frame(0xF0, 7, 1, [1]),
    frame(7, 0, 0, number(1) + number(0)), frame(9, 4, 1), frame(0, 8, 1, [9]), frame(0, 0, 0, [1]), frame(0, 0, 1),
    frame(1, 5, 2, block(post)), frame(1, 5, 1, [0xBE]), frame(1, 5, 1, [0x80]),
    frame(5, 4, 1, number(2) + block(post)),
  ]

  private static func connection(_ isClient: Bool, _ random: inout SeededGenerator) -> [[UInt8]] {
    var frames = messages(isClient, &random)
    for _ in 0..<[0, 0, 1, 1, 2].randomElement(using: &random)! {
      let index = Int.random(in: 0..<frames.count, using: &random)
      switch Int.random(in: 0...5, using: &random) {
      case 0: frames.remove(at: index)
      case 1: frames.insert(frames[index], at: index)
      case 2: frames.swapAt(index, frames.indices.randomElement(using: &random)!)
      case 3:
        // The length stays, because the frames of a damaged length are no frames.
        let byte = Int.random(in: 3..<frames[index].count, using: &random)
        frames[index][byte] ^= 1 << UInt8.random(in: 0...7, using: &random)
      default: frames.insert(control.randomElement(using: &random)!, at: index)
      }
      if frames.isEmpty { break }
    }
    // After GOAWAY, hyper-h2 receives nothing.
    let end = frames.firstIndex { $0[3] == 7 } ?? frames.count - 1
    return Array(frames[..<min(frames.count, end + 1)])
  }

  // MARK: our side

  /// The events of each frame up to the first error, and the code of this error.
  private struct Ours {
    var events: [[Event]] = []
    var error: HTTP2Code?
    var isConnectionError = false
  }

  private static func read(_ isClient: Bool, _ frames: [[UInt8]]) throws -> Ours {
    let session = try HTTP2Session(isClient ? .client : .server)
    if isClient {
      for _ in 0..<2 { try request(session) }
    }
    let preface = isClient ? [] : latin1("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    let settings = frame(4, 0, 0) + frame(4, 1, 0)
    try session.receive((preface + settings).span)
    while session.nextEvent() != nil {}
    try session.send { _ in }
    var ours = Ours()
    for bytes in frames {
      var (events, output) = ([Event](), [UInt8]())
      do throws(HTTP2Error) { try session.receive(bytes.span) } catch {
        (ours.error, ours.isConnectionError) = (error.code, true)
        return ours
      }
      while let event = session.nextEvent() {
        guard let event = describe(event, isClient, session) else { continue }
        // GOAWAY ends the streams that were not processed. hyper-h2 leaves this to its user.
        if event.kind == "reset", bytes[3] == 7 { continue }
        if event.kind == "malformed" {
          ours.error = .protocolError
          return ours
        }
        events.append(event)
      }
      try? session.send { output += $0 }
      while session.nextEvent() != nil {}
      if let code = ownReset(output) {
        ours.error = code
        return ours
      }
      ours.events.append(events)
    }
    return ours
  }

  /// `nil` if the event is not compared.
  private static func describe(_ event: HTTP2Event, _ isClient: Bool, _ session: HTTP2Session) -> Event? {
    switch event {
    case .head(let id, let block):
      var text = ByteBuffer()
      do throws(MessageError) {
        if isClient { try block.writeResponse(to: &text) } else { try block.writeRequest(hasBody: true, to: &text) }
      } catch { return Event("malformed", id) }
      return Event("head", id, words(block))
    case .trailers(let id, let block):
      var text = ByteBuffer()
      do throws(MessageError) { try block.writeTrailers(to: &text) } catch { return Event("malformed", id) }
      return Event("trailers", id, words(block))
    case .data(let id, let range):
      session.consumed(range.count, of: id)
      return range.isEmpty ? nil : Event("data", id, ["\(range.count)"])
    case .end(let id): return Event("end", id)
    case .failed(let id, _, let isViolation): return isViolation ? nil : Event("reset", id, ["peer"])
    case .refused, .drained, .settings, .goAway, .pong: return nil
    }
  }

  private static func words(_ block: HeaderBlock) -> [String] {
    block.lines.map { text(block.bytes[$0.name]) + "=" + text(block.bytes[$0.value]) }
  }

  /// The code of the first RST_STREAM frame.
  private static func ownReset(_ output: [UInt8]) -> HTTP2Code? {
    var rest = output[...]
    while rest.count >= 9 {
      let bytes = Array(rest)
      let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
      if bytes[3] == 3 { return HTTP2Code(rawValue: bytes[9..<13].reduce(0) { $0 << 8 | UInt32($1) }) }
      rest = rest.dropFirst(9 + length)
    }
    return nil
  }

  private static func request(_ session: HTTP2Session) throws {
    let bytes = post.flatMap { latin1($0.0) + latin1($0.1) }
    try bytes.withUnsafeBytes { bytes in
      var start = 0
      func next(_ text: String) -> UnsafeRawBufferPointer {
        defer { start += text.utf8.count }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + text.utf8.count])
      }
      let fields = post.map { HTTP2Field(name: next($0.0), value: next($0.1)) }
      _ = try session.sendRequest(fields, endsStream: false) { _ in }
    }
  }

  // MARK: comparison

  private static let below =
    "nghttp2 ignores a stream below an earlier one, which it cannot tell from a stream that has ended"
  /// Why hyper-h2 refuses what we accept, by its exception and the type of the frame.
  private static let lenient = [
    "StreamIDTooLowError 1": below, "StreamIDTooLowError 9": below, "ProtocolError 0": below,
  ]

  private static let heads = "hyper-h2 does not check methods, paths, authorities, all names and all lengths"
  /// Why we refuse what hyper-h2 accepts, by our error and the type of the frame.
  private static let stricter = [
    "PROTOCOL_ERROR 0": "data of a response that has none, such as 304", "PROTOCOL_ERROR 1": heads,
    "PROTOCOL_ERROR 9": heads, "PROTOCOL_ERROR 3": "RST_STREAM on an idle stream",
    "PROTOCOL_ERROR 4": "an acknowledgement of nothing", "PROTOCOL_ERROR 5": "hyper-h2 accepts pushes",
    "PROTOCOL_ERROR 7": "GOAWAY with a last stream that does not exist",
  ]

  @Test(.enabled(if: OtherPrograms.h2 != nil, "`make differential` runs this"), arguments: [false, true])
  func `hyper-h2 reads the same frames`(isClient: Bool) throws {
    var random = SeededGenerator(state: isClient ? 46 : 45)
    let cases = (0..<20_000).map { _ in Self.connection(isClient, &random) }
    let lines = cases.map { frames in
      ([isClient ? "client" : "server"] + frames.map(hexadecimal)).joined(separator: " ")
    }
    let answers: [Answer] = try OtherPrograms.answers(OtherPrograms.h2, "frames.py", lines)
    var whole = 0
    var differences: [String: (count: Int, example: String)] = [:]
    for (frames, answer) in zip(cases, answers) {
      let ours = try Self.read(isClient, frames)
      let count = min(ours.events.count, answer.events.count)
      #expect(Array(ours.events[..<count]) == Array(answer.events[..<count]), "\(frames.map(hexadecimal))")
      if ours.error == nil, answer.error == nil { whole += 1 }
      if ours.events.count == answer.events.count { continue }
      // One of both has an error for this frame, and the other has none.
      let frame = frames[count]
      let isOurs = ours.events.count < answer.events.count
      // Our decoder reads the fields of a header block before its end.
      if isOurs, answer.error != nil, [1, 9].contains(frame[3]), frame[4] & 4 == 0 { continue }
      // As a client, we ignore blanks around a value, as in HTTP/1.1 (RFC 9110 section 5.5). Some servers send them.
      if !isOurs, isClient, answer.error?.contains("surrounded by whitespace") == true { continue }
      let name = answer.error.map { String($0.prefix { $0 != ":" }) } ?? ""
      let key = "\(isOurs ? "\(ours.error!)" : name) \(frame[3])"
      if (isOurs ? Self.stricter : Self.lenient)[key] != nil { continue }
      let example = "\(isOurs ? "ours" : "h2 \(answer.error ?? "")") \(frames.prefix(count + 1).map(hexadecimal))"
      differences[key + (isOurs ? " ours" : " h2"), default: (0, example)].count += 1
    }
    #expect(whole > 3_000, "else the frames show nothing")
    #expect(
      differences.isEmpty, "\(differences.map { "\($0): \($1.count) times, \($1.example)" }.joined(separator: "\n"))")
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
