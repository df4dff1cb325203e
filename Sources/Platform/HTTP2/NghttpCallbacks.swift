internal import CNghttp2

/// The functions that nghttp2 calls. They find the session and record what happened.
enum NghttpCallbacks {
  /// The callbacks of every session. `nil` if there is no memory.
  // `nonisolated(unsafe)`: the table is never changed after its creation, and nghttp2 copies it.
  nonisolated(unsafe) static let shared: OpaquePointer? = {
    var callbacks: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
    received(callbacks)
    sent(callbacks)
    return callbacks
  }()

  /// Calls `body` with the session, which its caller keeps alive.
  @inline(__always)
  private static func withSession<Result>(
    _ owner: UnsafeMutableRawPointer?, else failure: Result, _ body: (HTTP2Session) -> Result
  ) -> Result {
    guard let owner else { return failure }
    return Unmanaged<HTTP2Session>.fromOpaque(owner)._withUnsafeGuaranteedRef { body($0) }
  }

  private static var failed: Int32 { NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }

  private static func received(_ callbacks: OpaquePointer) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, owner in
      guard let frame else { return NghttpCallbacks.failed }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) { $0.headerBlockBegins(frame.pointee) }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameCount, value, valueCount, _, owner in
      guard let frame else { return NghttpCallbacks.failed }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) {
        $0.fieldArrived(
          UnsafeBufferPointer(start: name, count: nameCount), UnsafeBufferPointer(start: value, count: valueCount),
          on: frame.pointee.hd.stream_id)
      }
    }
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, code, owner in
      guard let frame else { return NghttpCallbacks.failed }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) {
        $0.frameWasRefused(frame.pointee, nghttp2_error(rawValue: code))
        return 0
      }
    }
    nghttp2_session_callbacks_set_error_callback2(callbacks) { _, code, text, count, owner in
      guard code == NGHTTP2_ERR_HTTP_HEADER.rawValue, let text else { return 0 }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) {
        $0.refusedField = RefusedField(UnsafeRawBufferPointer(start: text, count: count))
        return 0
      }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, owner in
      guard let bytes else { return NghttpCallbacks.failed }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) {
        $0.dataArrived(UnsafeBufferPointer(start: bytes, count: count), on: stream)
      }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, owner in
      guard let frame else { return NghttpCallbacks.failed }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) {
        $0.frameArrived(frame.pointee)
        return 0
      }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, owner in
      NghttpCallbacks.withSession(owner, else: ()) { $0.streamClosed(stream, HTTP2Code(rawValue: code)) }
      return 0
    }
  }

  private static func sent(_ callbacks: OpaquePointer) {
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, owner in
      guard let frame else { return NghttpCallbacks.failed }
      return NghttpCallbacks.withSession(owner, else: NghttpCallbacks.failed) {
        $0.frameWasSent(frame.pointee)
        return 0
      }
    }
  }

  /// Where the bytes of a body come from. Lives as long as the process.
  // `nonisolated(unsafe)`: it is never changed after its creation, and nghttp2 copies it.
  nonisolated(unsafe) static let body: UnsafePointer<nghttp2_data_provider> = {
    let body = UnsafeMutablePointer<nghttp2_data_provider>.allocate(capacity: 1)
    body.initialize(
      to: nghttp2_data_provider(
        source: nghttp2_data_source(ptr: nil),
        read_callback: { _, stream, buffer, count, flags, _, owner in
          guard let buffer, let flags else { return Int(NghttpCallbacks.failed) }
          return NghttpCallbacks.withSession(owner, else: Int(NghttpCallbacks.failed)) {
            $0.takeBody(UnsafeMutableRawBufferPointer(start: buffer, count: count), &flags.pointee, of: stream)
          }
        }))
    return UnsafePointer(body)
  }()
}
