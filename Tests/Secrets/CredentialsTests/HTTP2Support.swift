import HTTP1
import HTTP2
import Policy
import TestServer
import Testing

/// A request as an HTTP/2 server decodes it.
struct HTTP2Request {
  let stream: HTTP2Session.StreamID
  /// The fields as `name: value`. An exclamation mark follows a field that is never indexed.
  let fields: [String]
  var body = ""
  var isEnded = false
}

/// Calls `send` on one connection `count` times, and returns the requests that the server receives.
/// - Parameter records: the number of TLS records of each request. `nil` for any number.
func receivedInHTTP2(
  _ count: Int, records: Int? = 1, _ send: (inout Session, HTTP2Session) throws -> HTTP2Session.StreamID
) throws -> [HTTP2Request] {
  let upstream = try Upstream(selectedProtocol: .http2)
  var streams: [HTTP2Session.StreamID] = []
  do {
    var session = try upstream.session(protocols: [.http2, .http1])
    let connection = try HTTP2Session(.client)
    for _ in 0..<count {
      let before = session.records
      streams.append(try send(&session, connection))
      if let records { #expect(session.records - before == records) }
    }
  }
  let connection = try #require(upstream.server.finish().first)
  let received = try decoded(connection.http2.bytes)
  #expect(received.map(\.stream) == streams)
  return received
}

/// Decodes what a client has sent.
func decoded(_ bytes: [UInt8]) throws -> [HTTP2Request] {
  let server = try HTTP2Session(.server)
  try server.receive(bytes.span)
  var requests: [HTTP2Request] = []
  var forms = HPACKForms.ofHeads(in: bytes)[...]
  while let event = server.nextEvent() {
    switch event {
    case .head(let stream, let block):
      let next = forms.popFirst()
      let kinds = try #require(next)
      try #require(kinds.count == block.lines.count)
      requests.append(
        HTTP2Request(
          stream: stream,
          fields: zip(block.lines, kinds).map { line, kind in
            String(decoding: block.bytes[line.name], as: UTF8.self) + ": "
              + String(decoding: block.bytes[line.value], as: UTF8.self) + (kind == .neverIndexed ? "!" : "")
          }))
    case .data(let stream, let range):
      let index = try #require(requests.firstIndex { $0.stream == stream })
      requests[index].body += String(decoding: bytes[range], as: UTF8.self)
    case .end(let stream):
      let index = try #require(requests.firstIndex { $0.stream == stream })
      requests[index].isEnded = true
    case .failed(let stream, let code, _): Issue.record("stream \(stream) failed with \(code.rawValue)")
    default: break
    }
  }
  return requests
}

/// The representations of fields in HPACK (RFC 7541 section 6), read without the tables.
enum HPACKForms {
  case indexed, addedToTable, notIndexed, neverIndexed

  /// Returns the representations of the fields in each header block of a client's bytes.
  static func ofHeads(in bytes: [UInt8]) -> [[HPACKForms]] {
    // The preface of the client has 24 bytes, and the header of a frame 9 bytes (RFC 9113 sections 3.4 and 4.1).
    var rest = bytes.dropFirst(24)
    var blocks: [[UInt8]] = []
    while rest.count >= 9 {
      let start = rest.startIndex
      let size = rest[start..<(start + 3)].reduce(0) { $0 << 8 | Int($1) }
      let (type, flags) = (rest[start + 3], rest[start + 4])
      var payload = rest.dropFirst(9).prefix(size)
      rest = rest.dropFirst(9 + size)
      switch type {
      case 1:
        if flags & 0x08 != 0, let padding = payload.popFirst() { payload = payload.dropLast(Int(padding)) }
        if flags & 0x20 != 0 { payload = payload.dropFirst(5) }
        blocks.append(Array(payload))
      case 9: blocks[blocks.count - 1] += payload
      default: break
      }
    }
    return blocks.map(forms)
  }

  private static func forms(_ block: [UInt8]) -> [HPACKForms] {
    var forms: [HPACKForms] = []
    var rest = block[...]
    while let first = rest.first {
      switch first {
      case 0x80...:
        _ = integer(&rest, bits: 7)
        forms.append(.indexed)
      case 0x40...:
        skipLiteral(&rest, bits: 6)
        forms.append(.addedToTable)
      // The size of the table, not a field.
      case 0x20...: _ = integer(&rest, bits: 5)
      default:
        skipLiteral(&rest, bits: 4)
        forms.append(first & 0x10 != 0 ? .neverIndexed : .notIndexed)
      }
    }
    return forms
  }

  private static func skipLiteral(_ rest: inout ArraySlice<UInt8>, bits: Int) {
    if integer(&rest, bits: bits) == 0 { skipText(&rest) }
    skipText(&rest)
  }

  private static func skipText(_ rest: inout ArraySlice<UInt8>) {
    let count = integer(&rest, bits: 7)
    rest = rest.dropFirst(count)
  }

  /// Reads an integer with a prefix of so many bits (RFC 7541 section 5.1).
  private static func integer(_ rest: inout ArraySlice<UInt8>, bits: Int) -> Int {
    let limit = (1 << bits) - 1
    guard let first = rest.popFirst() else { return 0 }
    var (value, shift) = (Int(first) & limit, 0)
    if value < limit { return value }
    while let byte = rest.popFirst() {
      value += Int(byte & 0x7F) << shift
      shift += 7
      if byte & 0x80 == 0 { break }
    }
    return value
  }
}
