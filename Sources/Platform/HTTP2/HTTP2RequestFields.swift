internal import Glibc
package import HTTP1
package import Primitives

/// Writes an `OutgoingRequest` as the head of an HTTP/2 message (RFC 9113 section 8.3.1).
///
/// Keeps scratch memory for the next request. Values are not copied, so this object never has a copy of a secret.
package final class HTTP2RequestFields {
  private var fields: [HTTP2Field] = []
  /// Names in lower case, and the digits of Content-Length. Has no pointers into it between two requests.
  private var scratch = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
  private var used = 0

  package init() {}

  deinit { scratch.deallocate() }

  /// Sends the head of `request` on a new stream, and `body` as far as the peer's windows allow.
  /// - Parameters:
  ///   - credential: what a credential adds to the request.
  ///   - body: the first bytes of the body, without framing.
  ///   - endsBody: whether `body` is the whole body. The stream is then ended, as for a request without a body.
  ///   - write: gets the bytes for the peer.
  package func send(
    _ request: borrowing OutgoingRequest, adding credential: borrowing HTTP2CredentialFields = HTTP2CredentialFields(),
    body: Span<UInt8>, endsBody: Bool, scheme: StaticString = "https", through session: HTTP2Session,
    _ write: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTP2RequestError) -> HTTP2Session.StreamID {
    try check(request, body, session)
    let endsStream = request.upgrade == nil && (!request.hasBody || (endsBody && body.isEmpty))
    let stream = try withFields(of: request, scheme, adding: credential) { (fields) throws(HTTP2RequestError) in
      do throws(HTTP2Error) {
        return try session.sendRequest(fields, endsStream: endsStream, write)
      } catch {
        throw .session(error)
      }
    }
    if endsStream || body.isEmpty { return stream }
    session.write(body, on: stream)
    if endsBody { session.end(stream) }
    do throws(HTTP2Error) { try session.send(write) } catch { throw .session(error) }
    return stream
  }

  /// Throws if the request has no form in HTTP/2.
  private func check(
    _ request: borrowing OutgoingRequest, _ body: Span<UInt8>, _ session: HTTP2Session
  ) throws(HTTP2RequestError) {
    // RFC 8441 section 3: only after the upstream's settings allow it.
    if request.upgrade != nil, !session.acceptsExtendedConnect {
      throw .unsuitable("a request that asks for a switch of protocols needs HTTP/1.1")
    }
    guard request.isComplete else {
      throw .unsuitable("the request line or the fields of the request are not complete")
    }
    guard request.hasPath || request.hasAsterisk else {
      throw .unsuitable("the target of a request in HTTP/2 must be a path or an asterisk")
    }
    guard body.isEmpty || request.hasBody else { throw .unsuitable("the request must not have a body") }
  }

  // MARK: the list of fields

  /// Calls `body` with the fields of the request. Their memory is valid only during the call.
  func withFields<Result>(
    of request: borrowing OutgoingRequest, _ scheme: StaticString = "https",
    adding credential: borrowing HTTP2CredentialFields, _ body: ([HTTP2Field]) throws(HTTP2RequestError) -> Result
  ) throws(HTTP2RequestError) -> Result {
    defer { fields.removeAll(keepingCapacity: true) }
    used = 0
    // Each name is a part of its line, so the scratch memory does not move while fields point into it.
    let extra = HTTP2RequestFields.maximumDigits &+ (request.upgrade?.utf8.count ?? 0)
    reserve(request.fields.count &+ credential.lineBytes &+ extra)
    return try request.line.storage.span.withUnsafeBytes { (line) throws(HTTP2RequestError) in
      try request.authority.span.withUnsafeBytes { (authority) throws(HTTP2RequestError) in
        try request.fields.storage.span.withUnsafeBytes { (lines) throws(HTTP2RequestError) in
          try request.cookie.storage.span.withUnsafeBytes { (cookie) throws(HTTP2RequestError) in
            if let upgrade = request.upgrade {
              add(":method", HTTP2RequestFields.bytes(of: "CONNECT"))
              add(":protocol", lowercased(upgrade))
            } else {
              add(":method", UnsafeRawBufferPointer(rebasing: line[request.method]))
            }
            add(":scheme", HTTP2RequestFields.bytes(of: scheme))
            add(":authority", authority)
            if credential.path.isEmpty {
              add(":path", UnsafeRawBufferPointer(rebasing: line[request.target]), isSensitive: true)
            } else {
              add(":path", credential.path, isSensitive: true)
            }
            try add(
              lines: UnsafeRawBufferPointer(rebasing: lines[..<request.fields.count]), isSensitive: false,
              isTunnel: request.upgrade != nil)
            if request.acceptsTrailers { add("te", HTTP2RequestFields.bytes(of: "trailers")) }
            if case .length(let count) = request.bodyLength, request.upgrade == nil {
              add("content-length", digits(of: count))
            }
            // Separate fields, which the peer joins (RFC 9113 section 8.2.3).
            if !request.cookie.isEmpty {
              add("cookie", UnsafeRawBufferPointer(rebasing: cookie[..<request.cookie.count]), isSensitive: true)
            }
            if !credential.cookie.isEmpty { add("cookie", credential.cookie, isSensitive: true) }
            try add(lines: credential.signature, isSensitive: true)
            try add(lines: credential.lines, isSensitive: true)
            try add(lines: credential.jar, isSensitive: true)
            return try body(fields)
          }
        }
      }
    }
  }

  /// Calls `body` with trailers, which are whole lines. Their memory is valid only during the call.
  package func withTrailers(
    _ lines: borrowing ByteBuffer, _ body: ([HTTP2Field]) -> Void
  ) throws(HTTP2RequestError) {
    defer { fields.removeAll(keepingCapacity: true) }
    used = 0
    let count = lines.count
    reserve(count)
    try lines.storage.span.withUnsafeBytes { (bytes) throws(HTTP2RequestError) in
      try add(lines: UnsafeRawBufferPointer(rebasing: bytes[..<count]), isSensitive: false)
      body(fields)
    }
  }

  private func add(_ name: StaticString, _ value: UnsafeRawBufferPointer, isSensitive: Bool = false) {
    fields.append(HTTP2Field(name: HTTP2RequestFields.bytes(of: name), value: value, isSensitive: isSensitive))
  }

  /// Adds whole lines `name: value` with CRLF, except fields that HTTP/2 does not have.
  /// - Parameter isTunnel: whether the request opens a WebSocket. Its key has no use in HTTP/2 (RFC 8441 section 5).
  private func add(
    lines: UnsafeRawBufferPointer, isSensitive: Bool, isTunnel: Bool = false
  ) throws(HTTP2RequestError) {
    let span = Span<UInt8>(_unsafeBytes: lines)
    var pairs = FieldPairs()
    while let pair = pairs.next(in: span) {
      let name = lowercased(lines, pair.name)
      let treatment = Treatment(of: name)
      if case .omitted = treatment { continue }
      if isTunnel, name.elementsEqual("sec-websocket-key".utf8) { continue }
      fields.append(
        HTTP2Field(
          name: name, value: UnsafeRawBufferPointer(rebasing: lines[pair.value]),
          isSensitive: isSensitive || treatment == .literal))
    }
    guard pairs.position == lines.count else { throw .unsuitable("a field of the request is not valid") }
  }

  // MARK: scratch memory

  /// Maximum number of decimal digits of a UInt64.
  private static let maximumDigits = 20

  private func reserve(_ count: Int) {
    if count <= scratch.count { return }
    scratch.deallocate()
    scratch = UnsafeMutableBufferPointer.allocate(capacity: max(count, 2 &* scratch.count, 1_024))
    scratch.initialize(repeating: 0)
  }

  /// Returns a copy of a name in lower case (RFC 9113 section 8.2).
  private func lowercased(_ lines: UnsafeRawBufferPointer, _ name: Range<Int>) -> UnsafeRawBufferPointer {
    let (copy, start) = (scratch, used)
    for index in name {
      let byte = lines[index]
      copy[start &+ index &- name.lowerBound] = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }
    used = start &+ name.count
    return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(copy)[start..<used])
  }

  private func lowercased(_ text: String) -> UnsafeRawBufferPointer {
    let start = used
    for byte in text.utf8 {
      scratch[used] = ASCII.lowercased(byte)
      used &+= 1
    }
    return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(scratch)[start..<used])
  }

  private func digits(of number: UInt64) -> UnsafeRawBufferPointer {
    let start = used
    withDecimalDigits(of: number) { digits in
      for index in digits.indices { scratch[start &+ index] = digits[index] }
      used &+= digits.count
    }
    return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(scratch)[start..<used])
  }

  fileprivate static func bytes(of text: StaticString) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}

/// What to do with a field of a request, by its name in lower case.
private enum Treatment {
  /// Requests repeat the field, and its value is not a secret of a caller. The table of header compression may contain it.
  case indexed
  /// The field is never indexed. Callers with the same credential share the table, and an indexed field makes later requests
  /// shorter. So a caller could guess the value of another caller, and see in the length of a request that the guess is right.
  case literal
  /// The field is about an HTTP/1.1 connection (RFC 9113 section 8.2.2), or the request has it in another form.
  case omitted

  init(of name: UnsafeRawBufferPointer) {
    // Only for a text of the same length.
    func matches(_ text: StaticString) -> Bool {
      name.baseAddress.map { memcmp($0, text.utf8Start, text.utf8CodeUnitCount) == 0 } ?? false
    }
    self =
      switch name.count {
      case 2: matches("te") ? .omitted : .literal
      case 4: matches("host") ? .omitted : .literal
      case 6: matches("accept") || matches("expect") ? .indexed : .literal
      case 7: matches("upgrade") ? .omitted : .literal
      case 10:
        matches("user-agent") ? .indexed : matches("connection") || matches("keep-alive") ? .omitted : .literal
      case 12: matches("content-type") ? .indexed : .literal
      case 13: matches("cache-control") || matches("grpc-encoding") ? .indexed : .literal
      case 14: matches("content-length") ? .omitted : .literal
      case 15: matches("accept-encoding") || matches("accept-language") ? .indexed : .literal
      case 16: matches("content-encoding") ? .indexed : matches("proxy-connection") ? .omitted : .literal
      case 17: matches("transfer-encoding") ? .omitted : .literal
      case 20: matches("grpc-accept-encoding") ? .indexed : .literal
      default: .literal
      }
  }
}

/// What a credential adds to a request. Points to memory of the caller. No part is ever indexed or copied.
package struct HTTP2CredentialFields: ~Copyable {
  /// The target with the credential's query parameter. Empty if the request's own target is sent.
  package var path = nothing
  /// A cookie, as in `name=value`. Empty if there is none.
  package var cookie = nothing
  /// Whole lines `name: value` with CRLF, in the order of the fields.
  package var signature = nothing
  package var lines = nothing
  package var jar = nothing

  private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  package init() {}

  fileprivate var lineBytes: Int { signature.count &+ lines.count &+ jar.count }
}

/// Why a request was not sent in HTTP/2.
package enum HTTP2RequestError: Error {
  /// The request has no form in HTTP/2, for the reason in the text. Nothing was written.
  case unsuitable(String)
  /// The connection refuses the request, or must end.
  case session(HTTP2Error)
}

extension OutgoingRequest {
  /// Whether a body follows the head.
  fileprivate var hasBody: Bool {
    switch bodyLength {
    case .none, .length(0): false
    case .length, .chunked, .untilClose: true
    }
  }

  /// Whether the target is `*`.
  fileprivate var hasAsterisk: Bool {
    let target = target
    return target.count == 1 && line.storage[target.lowerBound] == UInt8(ascii: "*")
  }
}
