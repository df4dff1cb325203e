internal import CNghttp2
internal import Glibc
internal import Primitives

// Bytes for the peer.
extension HTTP2Session {
  /// Calls `write` with the bytes for the peer, piece by piece, and overwrites each piece with zeros. `write` must not call
  /// functions of this session. Call this after each `receive`, and not before the last bytes have left: then nghttp2 holds the
  /// rest, and a peer that does not read is noticed.
  /// Throws after all bytes were written if the connection must end.
  /// - Parameter limit: about how many bytes to send. A frame is always sent as a whole.
  package func send(
    atMost limit: Int = .max, _ write: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTP2Error) {
    var left = limit
    try send(until: { left <= 0 }) { piece in
      left -= piece.count
      write(piece)
    }
  }

  /// Whether `send` has bytes, because of a call of another function, or after `send` reached its limit.
  package var hasBytes: Bool { !control.isEmpty || failure == nil && nghttp2_session_want_write(nghttp2) != 0 }

  /// Sends the head of a request on a new stream. Calls `write` as `send` does, until the head is complete, so that the memory of
  /// `fields` is not needed afterwards.
  /// - Parameter endsStream: whether the request has no body.
  package func sendRequest(
    _ fields: [HTTP2Field], endsStream: Bool, _ write: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTP2Error) -> StreamID {
    if let failure { throw failure }
    guard role == .client, !isBusy, canSendRequest else {
      throw HTTP2Error(.refusedStream, "the connection takes no further request now", endsConnection: false)
    }
    try checkSize(of: fields)
    let id = withNghttpFields(fields) {
      nghttp2_submit_request(nghttp2, nil, $0.baseAddress, $0.count, endsStream ? nil : NghttpCallbacks.body, nil)
    }
    guard id > 0 else {
      throw HTTP2Error(.internalError, Self.words("a request cannot be sent", id), endsConnection: false)
    }
    let stream = HTTP2Stream(isKnown: false)
    if endsStream { stream.end(trailers: []) }
    streams.set(stream, for: id)
    openStreams += 1
    try sendHead(of: id, write)
    stream.isKnown = true
    return id
  }

  /// Sends the head of a response, or an interim head (1xx). Calls `write` as `sendRequest` does.
  /// - Parameter endsStream: whether the response has no body.
  package func sendResponse(
    _ fields: [HTTP2Field], on stream: StreamID, endsStream: Bool, _ write: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTP2Error) {
    if let failure { throw failure }
    guard role == .server, !isBusy, let state = streams[stream], state.isKnown, !state.hasSentHead else {
      throw HTTP2Error(.streamClosed, "the stream takes no response", endsConnection: false)
    }
    try checkSize(of: fields)
    let isInterim = fields.contains { $0.name.elementsEqual(":status".utf8) && $0.value.first == 0x31 }
    let status = withNghttpFields(fields) {
      isInterim
        ? nghttp2_submit_headers(nghttp2, 0, stream, nil, $0.baseAddress, $0.count, nil)
        : nghttp2_submit_response(nghttp2, stream, $0.baseAddress, $0.count, endsStream ? nil : NghttpCallbacks.body)
    }
    guard status == 0 else {
      throw HTTP2Error(.internalError, Self.words("a response cannot be sent", status), endsConnection: false)
    }
    state.hasSentHead = !isInterim
    if endsStream { state.end(trailers: []) }
    try sendHead(of: stream, write)
  }

  /// Queues body bytes. They are sent when the peer's windows allow it.
  package func write(_ bytes: Span<UInt8>, on stream: StreamID) {
    guard let state = streams[stream], !state.isEnded, !bytes.isEmpty else { return }
    state.write(bytes)
    resume(stream, state)
  }

  /// Number of body bytes that are queued.
  package func queuedBytes(of stream: StreamID) -> Int { streams[stream]?.queuedBytes ?? 0 }

  /// Ends the body after the queued bytes, with trailers if there are any. The trailers are copied. Trailers that are too large
  /// reset the stream.
  package func end(_ stream: StreamID, trailers: [HTTP2Field] = []) {
    guard let state = streams[stream], !state.isEnded else { return }
    guard NghttpSetup.fits(trailers) else { return reset(stream, .internalError) }
    state.end(trailers: trailers)
    resume(stream, state)
  }

  private func resume(_ id: StreamID, _ stream: HTTP2Stream) {
    guard failure == nil, stream.isDeferred else { return }
    stream.isDeferred = false
    _ = nghttp2_session_resume_data(nghttp2, id)
  }

  /// Ends a stream at once (RST_STREAM). There are no further events of this stream.
  package func reset(_ stream: StreamID, _ code: HTTP2Code) {
    // Also if the stream has ended, and `events` still has events of it.
    if hasEvents || streams[stream] != nil { silenced.set((), for: stream) }
    guard failure == nil, let state = streams.remove(stream) else { return }
    // A client could cause resets of a server without a response, for example by malformed requests.
    if role == .client || state.hasSentHead { budget.earnByReset() }
    requestedResets.set((), for: stream)
    _ = nghttp2_submit_rst_stream(nghttp2, 0, stream, code.rawValue)
    drainControl()
  }

  /// Asks the peer for a `pong`.
  package func ping() {
    guard failure == nil else { return }
    _ = nghttp2_submit_ping(nghttp2, 0, nil)
  }

  /// Announces that no further stream of the peer is accepted (GOAWAY).
  package func goAway(_ code: HTTP2Code) {
    guard failure == nil else { return }
    let last = nghttp2_session_get_last_proc_stream_id(nghttp2)
    guard nghttp2_submit_goaway(nghttp2, 0, last, code.rawValue, nil, 0) == 0 else { return }
    requestedGoAways += 1
    drainControl()
  }

  // MARK: pieces

  /// Collects the control frames that nghttp2 wants to send, so that their effects are known now: the end of streams, or of the
  /// connection.
  func drainControl() {
    guard failure == nil, !isBusy else { return }
    isBusy = true
    defer { isBusy = false }
    while failure == nil, nghttp2_session_get_outbound_queue_size(nghttp2) > 0, let piece = nextPiece() {
      control += UnsafeRawBufferPointer(piece)
      Self.wipe(piece)
    }
  }

  /// The next frame, in memory of nghttp2. `nil` if there is none.
  private func nextPiece() -> UnsafeMutableRawBufferPointer? {
    var bytes: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(nghttp2, &bytes)
    if count > 0, let bytes {
      return UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(mutating: bytes), count: count)
    }
    if count < 0 { fail(HTTP2Error(.internalError, Self.words("HTTP/2 cannot be sent", Int32(clamping: count)))) }
    return nil
  }

  /// nghttp2 has serialised the frame, and does not read its bytes again.
  private static func wipe(_ piece: UnsafeMutableRawBufferPointer) {
    if let start = piece.baseAddress { explicit_bzero(start, piece.count) }
  }

  private func writeControl(_ write: (UnsafeRawBufferPointer) -> Void) {
    guard !control.isEmpty else { return }
    control.withUnsafeBytes { write($0) }
    control.removeAll(keepingCapacity: control.count <= 4096)
  }

  private func send(
    until isComplete: () -> Bool, _ write: (UnsafeRawBufferPointer) -> Void
  ) throws(HTTP2Error) {
    guard !isBusy else { throw HTTP2Error(.internalError, "bytes were sent from a closure that sends") }
    isBusy = true
    defer { isBusy = false }
    writeControl(write)
    while failure == nil, !isComplete(), let piece = nextPiece() {
      write(UnsafeRawBufferPointer(piece))
      Self.wipe(piece)
    }
    writeControl(write)
    if let failure { throw failure }
  }

  /// nghttp2 drops a larger head when it is about to send it.
  private func checkSize(of fields: [HTTP2Field]) throws(HTTP2Error) {
    if NghttpSetup.fits(fields) { return }
    throw HTTP2Error(.internalError, "the head is too large for HTTP/2", endsConnection: false)
  }

  private func sendHead(of id: StreamID, _ write: (UnsafeRawBufferPointer) -> Void) throws(HTTP2Error) {
    headWasSent = 0
    try send(until: { headWasSent == id || streams[id] == nil }, write)
    if headWasSent == id { return }
    guard streams[id] != nil else {
      throw HTTP2Error(.refusedStream, "the head cannot be sent", endsConnection: false)
    }
    // nghttp2 still holds pointers to the fields, so it must not run again.
    fail(HTTP2Error(.internalError, "nghttp2 did not send a head"))
    throw HTTP2Error(.internalError, "nghttp2 did not send a head")
  }

  private static func words(_ problem: String, _ status: Int32) -> String {
    "\(problem): \(String(cString: nghttp2_strerror(status)))"
  }
}

/// Calls `body` with the fields as nghttp2 wants them. nghttp2 does not copy names and values.
private func withNghttpFields(_ fields: [HTTP2Field], _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32) -> Int32 {
  // nghttp2 reads no byte of an empty string, but wants an address.
  var nothing: UInt8 = 0
  return withUnsafeMutablePointer(to: &nothing) { nothing in
    withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) { list in
      func pointer(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<UInt8> {
        bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0.assumingMemoryBound(to: UInt8.self)) } ?? nothing
      }
      for index in fields.indices {
        let field = fields[index]
        var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        if field.isSensitive { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
        list.initializeElement(
          at: index,
          to: nghttp2_nv(
            name: pointer(field.name), value: pointer(field.value), namelen: field.name.count,
            valuelen: field.value.count, flags: UInt8(flags)))
      }
      return body(UnsafeBufferPointer(list))
    }
  }
}
