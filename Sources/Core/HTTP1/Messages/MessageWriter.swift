package import Primitives

/// Serialises parsed parts. Nothing is relayed: what goes out was taken apart first. All append to `output`.
package enum MessageWriter {
  /// `GET /path HTTP/1.1` and the line end.
  package static func requestLine(method: Span<UInt8>, target: Span<UInt8>, to output: inout ByteBuffer) {
    output.append(method)
    output.append(Byte.space)
    output.append(target)
    output.append(" HTTP/1.1\r\n")
  }

  /// `HTTP/1.1 200 OK` and the line end. The status has three digits.
  package static func statusLine(_ status: Int, reason: Span<UInt8>, to output: inout ByteBuffer) {
    beginStatusLine(status, to: &output)
    output.append(reason)
    endOfHead(to: &output)
  }

  /// Writes the status line up to its reason.
  package static func beginStatusLine(_ status: Int, to output: inout ByteBuffer) {
    if status == 200 { return output.append("HTTP/1.1 200 ") }
    output.append("HTTP/1.1 ")
    output.append(decimal: UInt64(truncatingIfNeeded: status))
    output.append(Byte.space)
  }

  /// `name: value` and the line end. Both are trusted to be valid: they come from a parsed head or a literal.
  package static func field(name: Span<UInt8>, value: Span<UInt8>, to output: inout ByteBuffer) {
    output.append(name)
    output.append(Byte.colon, Byte.space)
    output.append(value)
    endOfHead(to: &output)
  }

  /// Writes a parsed field, whose ranges point into `bytes`.
  package static func field(_ field: Field, of bytes: [UInt8], to output: inout ByteBuffer) {
    let bytes = bytes.span
    if let line = line(of: field, in: bytes) { return output.append(bytes.extracting(line)) }
    MessageWriter.field(name: bytes.extracting(field.name), value: bytes.extracting(field.value), to: &output)
  }

  /// The place of the line, with its end, if it stands there byte for byte as it would be written, so that one copy is enough.
  package static func line(of field: Field, in bytes: Span<UInt8>) -> Range<Int>? {
    let (colon, value) = (field.name.upperBound, field.value)
    guard value.lowerBound == colon &+ 2, value.upperBound &+ 2 <= bytes.count,
      bytes[colon] == Byte.colon, bytes[colon &+ 1] == Byte.space,
      bytes[value.upperBound] == Byte.carriageReturn, bytes[value.upperBound &+ 1] == Byte.lineFeed
    else { return nil }
    return field.name.lowerBound..<(value.upperBound &+ 2)
  }

  /// Writes a field with a name in the text and a value from elsewhere.
  package static func field(name: String, value: Span<UInt8>, to output: inout ByteBuffer) {
    field(name: name.utf8.span, value: value, to: &output)
  }

  /// `Content-Length: n` and the line end, or `Transfer-Encoding: chunked`, or nothing.
  package static func framing(_ length: BodyLength, to output: inout ByteBuffer) {
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
  package static func chunkSize(_ size: Int, to output: inout ByteBuffer) {
    precondition(size > 0, "an empty chunk ends a body")
    output.append(hexadecimal: UInt64(size))
    chunkEnd(to: &output)
  }

  package static func chunkEnd(to output: inout ByteBuffer) {
    output.append(Byte.carriageReturn, Byte.lineFeed)
  }

  /// The last chunk, the trailers (ranges into `bytes`), and the closing empty line.
  package static func lastChunk(trailers: [Field], of bytes: [UInt8], to output: inout ByteBuffer) {
    output.append("0\r\n")
    for trailer in trailers { field(trailer, of: bytes, to: &output) }
    endOfHead(to: &output)
  }

  /// The empty line that ends a head.
  package static func endOfHead(to output: inout ByteBuffer) {
    output.append(Byte.carriageReturn, Byte.lineFeed)
  }
}

extension MessageWriter {
  /// One chunk: its size, its data, its end (RFC 9112 §7.1). `data` is not empty: that would be the last chunk.
  package static func chunk(_ data: Span<UInt8>, to output: inout ByteBuffer) {
    chunkSize(data.count, to: &output)
    output.append(data)
    chunkEnd(to: &output)
  }

  /// Writes one chunk of data in two parts.
  package static func chunk(_ first: Span<UInt8>, _ second: Span<UInt8>, to output: inout ByteBuffer) {
    if first.isEmpty { return chunk(second, to: &output) }
    chunkSize(first.count &+ second.count, to: &output)
    output.append(first)
    output.append(second)
    chunkEnd(to: &output)
  }
}
