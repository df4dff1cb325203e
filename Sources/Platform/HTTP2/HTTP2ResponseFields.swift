internal import HTTP1

/// Sends the heads and trailers of responses, which are HTTP/1.1 text, as header blocks of HTTP/2 (RFC 9113 section 8.3.2).
package struct HTTP2ResponseFields {
  /// Empty between two calls, because the fields point to memory of the caller.
  private var fields: [HTTP2Field] = []

  package init() {}

  /// Sends the head that begins at `start` of `text`: a status line, whole field lines and an empty line. Does not send a
  /// malformed head.
  /// - Parameters:
  ///   - text: its names are changed to lower case (RFC 9113 section 8.2).
  ///   - endsStream: whether the response has no body.
  ///   - write: gets the bytes for the peer.
  /// - Returns: the end of the head in `text`.
  package mutating func send(
    _ text: UnsafeMutableRawBufferPointer, from start: Int, on stream: HTTP2Session.StreamID, endsStream: Bool,
    through session: HTTP2Session, _ write: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTP2Error) -> Int {
    defer { fields.removeAll(keepingCapacity: true) }
    let status = start &+ 9..<start &+ 12
    guard var end = Self.endOfLine(text, from: start), end >= status.upperBound else {
      throw HTTP2Error(.internalError, "the status line of a response is malformed", endsConnection: false)
    }
    add(":status", UnsafeRawBufferPointer(rebasing: text[status]))
    end = add(lines: text, from: end)
    guard let next = Self.endOfLine(text, from: end), next == end &+ 2 else {
      throw HTTP2Error(.internalError, "a field of a response is malformed", endsConnection: false)
    }
    try session.sendResponse(fields, on: stream, endsStream: endsStream, write)
    return next
  }

  /// Ends the body of a response, with trailers if there are any.
  /// - Parameter trailers: whole lines. Their names are changed to lower case.
  package mutating func end(
    _ stream: HTTP2Session.StreamID, trailers: UnsafeMutableRawBufferPointer, through session: HTTP2Session
  ) {
    defer { fields.removeAll(keepingCapacity: true) }
    _ = add(lines: trailers, from: 0)
    session.end(stream, trailers: fields)
  }

  /// Whether the head that begins at `start` is an interim one (1xx).
  package static func isInterim(_ text: [UInt8], from start: Int) -> Bool {
    start &+ 9 < text.count && text[start &+ 9] == UInt8(ascii: "1")
  }

  /// Adds whole lines `name: value` with CRLF. Returns the index of the first byte that belongs to no such line.
  private mutating func add(lines: UnsafeMutableRawBufferPointer, from start: Int) -> Int {
    let span = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: lines[start...]))
    var pairs = FieldPairs()
    while let pair = pairs.next(in: span) {
      let name = start &+ pair.name.lowerBound..<start &+ pair.name.upperBound
      for index in name {
        let byte = lines[index]
        if byte &- UInt8(ascii: "A") < 26 { lines[index] = byte | 0x20 }
      }
      let value = start &+ pair.value.lowerBound..<start &+ pair.value.upperBound
      fields.append(
        HTTP2Field(
          name: UnsafeRawBufferPointer(rebasing: lines[name]), value: UnsafeRawBufferPointer(rebasing: lines[value]),
          isSensitive: Self.isSensitive(lines[name])))
    }
    return start &+ pairs.position
  }

  private mutating func add(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
    fields.append(
      HTTP2Field(
        name: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value: value))
  }

  /// Whether the value is often a credential of the client, so that it must not be indexed.
  private static func isSensitive(_ name: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
    name.count == 10 && name.elementsEqual("set-cookie".utf8)
  }

  private static func endOfLine(_ text: UnsafeMutableRawBufferPointer, from start: Int) -> Int? {
    var index = start
    while index &+ 1 < text.count {
      if text[index] == 0x0D, text[index &+ 1] == 0x0A { return index &+ 2 }
      index &+= 1
    }
    return nil
  }
}
