package import Primitives

/// Writes parts of HTTP/1.1 messages, such as status lines and chunks. Each function appends its text to `output`.
package enum MessageWriter {
  /// Writes the status line, as in `HTTP/1.1 200 OK`. The status must have three digits.
  package static func statusLine(_ status: Int, reason: Span<UInt8>, to output: inout ByteBuffer) {
    if status == 200 {
      output.append("HTTP/1.1 200 ")
    } else {
      output.append("HTTP/1.1 ")
      output.append(decimal: UInt64(truncatingIfNeeded: status))
      output.append(Byte.space)
    }
    output.append(reason)
    FieldWriter.lineEnd(to: &output)
  }

  /// Writes the Content-Length or Transfer-Encoding field for a body. Writes nothing for `none` and `untilClose`.
  package static func framing(_ length: BodyLength, to output: inout ByteBuffer) {
    framing(length) { output.append($0) }
  }

  /// Passes the parts of the Content-Length or Transfer-Encoding field to `emit`.
  @inline(__always)
  static func framing(_ length: BodyLength, emit: (Span<UInt8>) -> Void) {
    switch length {
    case .none, .untilClose: break
    case .chunked: emit("Transfer-Encoding: chunked\r\n".utf8.span)
    case .length(let count):
      emit("Content-Length: ".utf8.span)
      withDecimalDigits(of: count) { emit($0) }
      emit("\r\n".utf8.span)
    }
  }

  /// Passes the fields of a message that switches the connection to another protocol to `emit`.
  @inline(__always)
  package static func upgrade(_ name: String, emit: (Span<UInt8>) -> Void) {
    // Servers that switch protocols expect one Connection field with one option.
    emit("Connection: upgrade\r\nUpgrade: ".utf8.span)
    emit(name.utf8.span)
    emit("\r\n".utf8.span)
  }

  /// Writes the line before a chunk's data, which the caller writes next. The size must not be 0.
  private static func chunkSize(_ size: Int, to output: inout ByteBuffer) {
    precondition(size > 0, "an empty chunk ends a body")
    output.append(hexadecimal: UInt64(size))
    FieldWriter.lineEnd(to: &output)
  }

  /// Writes the last chunk, and the trailers, whose ranges point into `bytes`.
  package static func lastChunk(trailers: [Field], of bytes: [UInt8], to output: inout ByteBuffer) {
    output.append("0\r\n")
    for trailer in trailers { FieldWriter.field(trailer, of: bytes, to: &output) }
    FieldWriter.lineEnd(to: &output)
  }

  /// Writes the last chunk, and the trailers, which are whole lines.
  package static func lastChunk(trailers: Span<UInt8>, to output: inout ByteBuffer) {
    output.append("0\r\n")
    output.append(trailers)
    FieldWriter.lineEnd(to: &output)
  }

  /// Writes one chunk (RFC 9112 §7.1). `data` must not be empty.
  package static func chunk(_ data: Span<UInt8>, to output: inout ByteBuffer) {
    chunkSize(data.count, to: &output)
    output.append(data)
    FieldWriter.lineEnd(to: &output)
  }

  package static func chunk(_ first: Span<UInt8>, _ second: Span<UInt8>, to output: inout ByteBuffer) {
    if first.isEmpty { return chunk(second, to: &output) }
    chunkSize(first.count &+ second.count, to: &output)
    output.append(first)
    output.append(second)
    FieldWriter.lineEnd(to: &output)
  }
}
