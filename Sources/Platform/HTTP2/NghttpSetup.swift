internal import CNghttp2
internal import Glibc
internal import System

/// Creates sessions of nghttp2.
enum NghttpSetup {
  /// Maximum size of a header block to send, as nghttp2 estimates it. Far above the limits of heads, which are checked before.
  private static let maximumSentHead = 1 << 21
  /// Acknowledgements that one `receive` may cause.
  private static let maximumAcknowledgements = 1000
  // nghttp2 counts each piece of a CONTINUATION frame's header. `HTTP2FrameScanner` has the real limit.
  private static let maximumContinuations = 1 << 20

  /// `nil` if there is no memory.
  static func session(_ role: HTTP2Session.Role, owner: UnsafeMutableRawPointer) -> OpaquePointer? {
    guard let callbacks = NghttpCallbacks.shared else { return nil }
    var option: OpaquePointer?
    guard nghttp2_option_new(&option) == 0, let option else { return nil }
    defer { nghttp2_option_del(option) }
    nghttp2_option_set_no_auto_window_update(option, 1)
    nghttp2_option_set_no_closed_streams(option, 1)
    nghttp2_option_set_max_outbound_ack(option, maximumAcknowledgements)
    nghttp2_option_set_max_send_header_block_length(option, maximumSentHead)
    newer.maximumContinuations?(option, maximumContinuations)
    // Some servers send blanks around a value. `HeaderBlock` removes them, as HTTP/1.1 does (RFC 9110 section 5.5).
    if role == .client { newer.allowsBlanks?(option, 1) }
    // nghttp2 counts in seconds, and its limits know nothing of useful traffic. `HTTP2Budget` has the real limits.
    newer.resetRate?(option, 10_000, 1000)
    newer.glitchRate?(option, 10_000, 1000)

    // nghttp2 encodes the fields of a head in this memory, also credentials.
    var memory = nghttp2_mem(
      mem_user_data: nil, malloc: { count, _ in WipedMemory.allocate(count) },
      free: { memory, _ in WipedMemory.free(memory) },
      calloc: { number, size, _ in WipedMemory.allocate(number, of: size) },
      realloc: { memory, count, _ in WipedMemory.reallocate(memory, count) })
    var session: OpaquePointer?
    let status =
      switch role {
      case .client: nghttp2_session_client_new3(&session, callbacks, owner, option, &memory)
      case .server: nghttp2_session_server_new3(&session, callbacks, owner, option, &memory)
      }
    return status == 0 ? session : nil
  }

  /// Whether nghttp2 can send a header block with these fields.
  static func fits(_ fields: [HTTP2Field]) -> Bool {
    // As `nghttp2_hd_deflate_bound` estimates: two changes of the table's size, two lengths and a type for each field.
    fields.reduce(12) { $0 &+ 12 &+ $1.name.count &+ $1.value.count } <= maximumSentHead
  }

  /// Announces the limits.
  static func submitSettings(_ session: OpaquePointer, _ role: HTTP2Session.Role, _ limits: HTTP2Limits) -> Bool {
    func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
      nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
    }
    var entries = [
      entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, min(limits.streamWindow, Int(Int32.max))),
      entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.headerBlock),
      // Without dependencies between streams, there is no tree that a peer could make nghttp2 walk.
      entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
    ]
    switch role {
    case .client: entries.append(entry(NGHTTP2_SETTINGS_ENABLE_PUSH, 0))
    case .server:
      entries.append(entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams))
      if limits.acceptsExtendedConnect { entries.append(entry(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1)) }
    }
    return nghttp2_submit_settings(session, 0, entries, entries.count) == 0
      && nghttp2_session_set_local_window_size(session, 0, 0, Int32(clamping: limits.connectionWindow)) == 0
  }

  /// Functions that not every version of nghttp2 has.
  private struct Newer: Sendable {
    let resetRate: (@convention(c) (OpaquePointer, UInt64, UInt64) -> Void)?
    let glitchRate: (@convention(c) (OpaquePointer, UInt64, UInt64) -> Void)?
    let maximumContinuations: (@convention(c) (OpaquePointer, Int) -> Void)?
    let allowsBlanks: (@convention(c) (OpaquePointer, Int32) -> Void)?
  }

  private static let newer: Newer = {
    func function<F>(_ name: String, _ type: F.Type) -> F? {
      dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
    typealias Rate = @convention(c) (OpaquePointer, UInt64, UInt64) -> Void
    return Newer(
      resetRate: function("nghttp2_option_set_stream_reset_rate_limit", Rate.self),
      glitchRate: function("nghttp2_option_set_glitch_rate_limit", Rate.self),
      maximumContinuations: function(
        "nghttp2_option_set_max_continuations", (@convention(c) (OpaquePointer, Int) -> Void).self),
      allowsBlanks: function(
        "nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation",
        (@convention(c) (OpaquePointer, Int32) -> Void).self))
  }()
}
