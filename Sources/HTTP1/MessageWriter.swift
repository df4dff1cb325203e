/// Serialises parsed parts. Nothing is relayed: what goes out was taken apart first. All append to `output`.
package enum MessageWriter {
  /// `GET /path HTTP/1.1` and the line end.
  package static func requestLine(method: Span<UInt8>, target: Span<UInt8>, to output: inout [UInt8]) {
    output.append(addingCapacity: method.count &+ target.count &+ 12) { output in
      output.append(copying: method)
      output.append(Byte.space)
      output.append(copying: target)
      output.append(Byte.space)
      output.appendVersion()
      output.appendLineEnd()
    }
  }

  /// `HTTP/1.1 200 OK` and the line end. The status has three digits.
  package static func statusLine(_ status: Int, reason: Span<UInt8>, to output: inout [UInt8]) {
    output.append(addingCapacity: reason.count &+ 15) { output in
      output.appendVersion()
      output.append(Byte.space)
      let digits = UInt32(truncatingIfNeeded: status)
      output.append(Byte.zero &+ UInt8(truncatingIfNeeded: digits / 100 % 10))
      output.append(Byte.zero &+ UInt8(truncatingIfNeeded: digits / 10 % 10))
      output.append(Byte.zero &+ UInt8(truncatingIfNeeded: digits % 10))
      output.append(Byte.space)
      output.append(copying: reason)
      output.appendLineEnd()
    }
  }

  /// `name: value` and the line end. Both are trusted to be valid: they come from a parsed head or a literal.
  package static func field(name: Span<UInt8>, value: Span<UInt8>, to output: inout [UInt8]) {
    output.append(addingCapacity: name.count &+ value.count &+ 4) { output in
      output.append(copying: name)
      output.append(Byte.colon)
      output.append(Byte.space)
      output.append(copying: value)
      output.appendLineEnd()
    }
  }

  /// The same for a parsed field, whose ranges point into `bytes`.
  package static func field(_ field: Field, of bytes: [UInt8], to output: inout [UInt8]) {
    let bytes = bytes.span
    MessageWriter.field(name: bytes.extracting(field.name), value: bytes.extracting(field.value), to: &output)
  }

  /// The same for a name in the text, with a value from elsewhere.
  package static func field(name: String, value: Span<UInt8>, to output: inout [UInt8]) {
    field(name: name.utf8.span, value: value, to: &output)
  }

  /// `Content-Length: n` and the line end, or `Transfer-Encoding: chunked`, or nothing.
  package static func framing(_ length: BodyLength, to output: inout [UInt8]) {
    switch length {
    case .none, .untilClose: break
    case .chunked: output.append("Transfer-Encoding: chunked\r\n")
    case .length(let count):
      output.append("Content-Length: ")
      output.append(decimal: count)
      endOfHead(to: &output)
    }
  }

  /// `size` in hexadecimal and the line end; the data and `chunkEnd` follow. Not 0: that would end the body.
  package static func chunkSize(_ size: Int, to output: inout [UInt8]) {
    precondition(size > 0, "an empty chunk ends a body")
    output.append(hexadecimal: UInt64(size))
    chunkEnd(to: &output)
  }

  package static func chunkEnd(to output: inout [UInt8]) {
    output.append(Byte.carriageReturn)
    output.append(Byte.lineFeed)
  }

  /// The last chunk, the trailers (ranges into `bytes`), and the closing empty line.
  package static func lastChunk(trailers: [Field], of bytes: [UInt8], to output: inout [UInt8]) {
    output.append("0\r\n")
    for trailer in trailers { field(trailer, of: bytes, to: &output) }
    endOfHead(to: &output)
  }

  /// The empty line that ends a head.
  package static func endOfHead(to output: inout [UInt8]) {
    output.append(Byte.carriageReturn)
    output.append(Byte.lineFeed)
  }
}

extension OutputSpan<UInt8> {
  @inline(__always)
  fileprivate mutating func append(copying bytes: Span<UInt8>) {
    for index in bytes.indices { append(bytes[index]) }
  }

  @inline(__always)
  fileprivate mutating func appendLineEnd() {
    append(Byte.carriageReturn)
    append(Byte.lineFeed)
  }

  @inline(__always)
  fileprivate mutating func appendVersion() {
    append(copying: "HTTP/1.1".utf8.span)
  }
}

extension MessageWriter {
  /// One chunk: its size, its data, its end (RFC 9112 §7.1). `data` is not empty: that would be the last chunk.
  package static func chunk(_ data: Span<UInt8>, to output: inout [UInt8]) {
    chunkSize(data.count, to: &output)
    output.append(data)
    chunkEnd(to: &output)
  }

  /// The same for data in two parts.
  package static func chunk(_ first: Span<UInt8>, _ second: Span<UInt8>, to output: inout [UInt8]) {
    if first.isEmpty { return chunk(second, to: &output) }
    chunkSize(first.count &+ second.count, to: &output)
    output.append(first)
    output.append(second)
    chunkEnd(to: &output)
  }
}
