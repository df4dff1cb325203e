import HTTP2

/// Frames as bytes (RFC 9113 section 4.1).
enum Raw {
  static let preface = [UInt8]("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  static let endStream: UInt8 = 1
  static let endHeaders: UInt8 = 4
  static let padded: UInt8 = 8

  static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let length = payload.count
    return [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags] + bytes(stream) + payload
  }

  static func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }

  static func data(_ stream: UInt32, _ payload: [UInt8] = [], _ flags: UInt8 = 0) -> [UInt8] {
    frame(0, flags, stream, payload)
  }
  static func headers(_ stream: UInt32, _ fields: [(String, String)] = get, _ flags: UInt8 = endHeaders | endStream)
    -> [UInt8]
  {
    frame(1, flags, stream, block(fields))
  }
  static func reset(_ stream: UInt32, _ code: UInt32 = 8) -> [UInt8] { frame(3, 0, stream, bytes(code)) }
  static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
    frame(4, 0, 0, values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + bytes($0.1) })
  }
  static let settingsAck = frame(4, 1)
  static let ping = frame(6, 0, 0, [UInt8](repeating: 1, count: 8))
  static func goAway(last: UInt32, _ code: UInt32 = 0) -> [UInt8] { frame(7, 0, 0, bytes(last) + bytes(code)) }
  static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] { frame(8, 0, stream, bytes(increment)) }

  /// A header block of literal fields without indexing (RFC 7541 section 6.2.2).
  static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { [0] + string($0.0) + string($0.1) }
  }

  private static func string(_ text: String) -> [UInt8] {
    let bytes = [UInt8](text.utf8)
    var prefix = [UInt8(min(bytes.count, 127))]
    if bytes.count >= 127 {
      var rest = bytes.count - 127
      while rest >= 128 {
        prefix.append(UInt8(rest & 127 | 128))
        rest >>= 7
      }
      prefix.append(UInt8(rest))
    }
    return prefix + bytes
  }

  struct Frame: Equatable {
    let type: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: [UInt8]

    /// The error code of a RST_STREAM or GOAWAY frame.
    var code: HTTP2Code? {
      switch type {
      case 3: HTTP2Code(rawValue: Raw.number(payload[0..<4]))
      case 7: HTTP2Code(rawValue: Raw.number(payload[4..<8]))
      default: nil
      }
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

  static func parse(_ bytes: [UInt8]) -> [Frame] {
    var rest = bytes[...]
    if rest.starts(with: preface) { rest = rest.dropFirst(preface.count) }
    var frames: [Frame] = []
    while rest.count >= 9 {
      let head = [UInt8](rest.prefix(9))
      let length = Int(number(head[0..<3]))
      frames.append(
        Frame(
          type: head[3], flags: head[4], stream: number(head[5..<9]), payload: [UInt8](rest.dropFirst(9).prefix(length))
        ))
      rest = rest.dropFirst(9 + length)
    }
    return frames
  }
}

/// A session whose peer is a list of raw frames.
struct RawPeer {
  let peer: Peer

  /// A server that has got the preface and settings, or a client that has got settings and has sent requests on streams 1 and 3.
  init(_ role: HTTP2Session.Role, _ limits: HTTP2Limits = HTTP2Limits()) throws {
    peer = try Peer(role, limits)
    if role == .client {
      for _ in 0..<2 { _ = try peer.request(post, endsStream: false) }
    }
    try peer.receive((role == .server ? Raw.preface : []) + Raw.settings() + Raw.settingsAck)
    peer.flush()
    peer.output = []
  }

  /// The frames that the session sends after it got `bytes`, and its error.
  func exchange(_ bytes: [UInt8]) -> (frames: [Raw.Frame], error: HTTP2Error?) {
    var error: HTTP2Error?
    do { try peer.session.receive(bytes.span) } catch let failure { error = failure }
    while let event = peer.session.nextEvent() { peer.note(event, bytes) }
    peer.flush()
    defer { peer.output = [] }
    return (Raw.parse(peer.output), error)
  }
}
