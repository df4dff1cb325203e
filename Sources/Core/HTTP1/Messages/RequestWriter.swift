package import Primitives

/// Writes an `OutgoingRequest` as the head of an HTTP/1.1 message.
package enum RequestWriter {
  /// Passes the parts of the head to `emit` in order, without the closing empty line, so that more fields can follow.
  /// - Parameters:
  ///   - parameter: a query parameter to add to the target. Empty if there is none.
  ///   - cookie: a cookie to add to the request's cookies. Empty if there is none.
  package static func write(
    _ request: borrowing OutgoingRequest, parameter: Span<UInt8>, cookie: Span<UInt8>, emit: (Span<UInt8>) -> Void
  ) {
    emit(request.line.storage.span.extracting(first: request.line.count))
    if parameter.count > 0 {
      RequestWriter.emit(request.parameterSeparator, emit)
      emit(parameter)
    }
    RequestWriter.emit(" HTTP/1.1\r\nHost: ", emit)
    emit(request.authority.span)
    RequestWriter.emit("\r\n", emit)
    emit(request.fields.storage.span.extracting(first: request.fields.count))
    writeConnection(request, emit: emit)
    MessageWriter.framing(request.bodyLength, emit: emit)
    if cookie.isEmpty, request.cookie.isEmpty { return }
    RequestWriter.emit("Cookie: ", emit)
    emit(request.cookie.storage.span.extracting(first: request.cookie.count))
    if !cookie.isEmpty, !request.cookie.isEmpty { RequestWriter.emit("; ", emit) }
    emit(cookie)
    RequestWriter.emit("\r\n", emit)
  }

  /// Appends the head of a request without a credential, without the closing empty line.
  package static func write(_ request: borrowing OutgoingRequest, to output: inout ByteBuffer) {
    let nothing: [UInt8] = []
    write(request, parameter: nothing.span, cookie: nothing.span) { output.append($0) }
  }

  /// Appends the whole head of a request without a credential, and the first bytes of its body.
  package static func write(_ request: borrowing OutgoingRequest, body: Span<UInt8>, to output: inout ByteBuffer) {
    write(request, to: &output)
    FieldWriter.lineEnd(to: &output)
    output.append(body)
  }

  private static func writeConnection(_ request: borrowing OutgoingRequest, emit: (Span<UInt8>) -> Void) {
    if let upgrade = request.upgrade {
      MessageWriter.upgrade(upgrade, emit: emit)
    } else if request.acceptsTrailers {
      RequestWriter.emit(
        request.isLast ? "TE: trailers\r\nConnection: TE, close\r\n" : "TE: trailers\r\nConnection: TE\r\n", emit)
    } else if request.isLast {
      RequestWriter.emit("Connection: close\r\n", emit)
    }
  }

  @inline(__always)
  private static func emit(_ text: String, _ emit: (Span<UInt8>) -> Void) { emit(text.utf8.span) }
}
