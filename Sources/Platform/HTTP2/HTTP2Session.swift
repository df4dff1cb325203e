internal import CNghttp2
internal import Glibc
internal import HTTP1
internal import Primitives

/// One HTTP/2 connection (RFC 9113), as a client or as a server. Bytes of the peer go in and events come out; messages go in
/// and bytes for the peer come out.
package final class HTTP2Session {
  package typealias StreamID = Int32

  package enum Role: Sendable { case client, server }

  let role: Role
  let limits: HTTP2Limits
  /// Only `nil` while `init` runs.
  private(set) var nghttp2: OpaquePointer?

  var streams = FastTable<HTTP2Stream>()
  /// Streams that `reset` ends. Their RST_STREAM frames are not the peer's fault.
  var requestedResets = FastTable<Void>()
  /// The header block that is arriving. No other frame can come before its end (RFC 9113 section 4.3).
  var block = HeaderBlock()
  /// Empty blocks, whose memory the next heads use.
  var spareBlocks: [HeaderBlock] = []
  /// The stream of `block`. 0 if no block is arriving, or if it is not kept.
  var blockStream: StreamID = 0
  private var events: [HTTP2Event] = []
  private var nextIndex = 0
  /// Size of the header blocks in `events`, counted as `HeaderBlock.size`.
  var queuedHeads = 0
  /// Streams that `reset` ended. `events` may still have events of them.
  var silenced = FastTable<Void>()
  /// The bytes that `receive` got, while it runs.
  var input: UnsafeRawBufferPointer?
  private var scanner: HTTP2FrameScanner
  var budget: HTTP2Budget

  /// Control frames that wait for the next `send`.
  var control: [UInt8] = []
  /// Number of own GOAWAY frames that nghttp2 has not sent yet.
  var requestedGoAways = 0
  /// Greatest stream of the peer that was processed.
  var lastStream: StreamID = 0
  /// Whether a function runs that must not be called again before it returns.
  var isBusy = false
  /// The stream whose head was sent last.
  var headWasSent: StreamID = 0
  /// Streams of requests whose heads were refused, until they are closed.
  var refusals: [StreamID: MessageError] = [:]
  /// The last field that nghttp2 has refused.
  var refusedField = RefusedField.name
  /// Why the connection must end. `nil` if the peer has not violated the protocol.
  package internal(set) var failure: HTTP2Error?

  /// Number of streams that count for the limit of concurrent streams.
  package internal(set) var openStreams = 0

  package init(_ role: Role, limits: HTTP2Limits = HTTP2Limits()) throws(HTTP2Error) {
    (self.role, self.limits) = (role, limits)
    budget = HTTP2Budget(limits.budget, exempt: limits.exempt)
    scanner = HTTP2FrameScanner(preface: role == .server ? 24 : 0, headerBlock: limits.headerBlock)
    nghttp2 = NghttpSetup.session(role, owner: Unmanaged.passUnretained(self).toOpaque())
    guard let nghttp2, NghttpSetup.submitSettings(nghttp2, role, limits) else {
      throw HTTP2Error(.internalError, "no memory for an HTTP/2 connection")
    }
  }

  deinit {
    if let nghttp2 { nghttp2_session_del(nghttp2) }
    block.wipe()
    wipeHeads()
  }

  // MARK: bytes of the peer

  /// Decodes bytes of the peer. Afterwards, take all events with `nextEvent`, and then send what `send` has. Must not be called
  /// from the closure of a sending function.
  /// Throws if the connection must end. `send` then has the bytes that tell the peer why.
  package func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) { _ = try receive(bytes, work: .max) }

  /// The `work` for an owner that shares its thread with other connections. Forwarding one byte of data can cost as much as a system
  /// call.
  package static var pieceOfWork: Int { 32 }

  /// Decodes bytes of the peer, as `receive` does, until they have caused some work.
  /// - Parameter work: after how much work to stop. Most frames count 1, and those that can begin or end a message count 4, 8 or more.
  /// - Returns: the number of decoded bytes.
  package func receive(_ bytes: Span<UInt8>, work: Int) throws(HTTP2Error) -> Int {
    if let failure { throw failure }
    guard !isBusy, !events[nextIndex...].contains(where: \.isData) else {
      throw HTTP2Error(.internalError, "bytes were received before the last events were used")
    }
    isBusy = true
    let count = bytes.withUnsafeBufferPointer { decode($0, work) }
    isBusy = false
    drainControl()
    if failure == nil { checkBudget() }
    if let failure { throw failure }
    return count
  }

  private func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ work: Int) -> Int {
    budget.streams = openStreams
    let (count, error) = scanner.scan(bytes, work: work, &budget)
    if let error { fail(error) } else { decode(UnsafeBufferPointer(rebasing: bytes[..<count])) }
    return count
  }

  private func decode(_ bytes: UnsafeBufferPointer<UInt8>) {
    input = UnsafeRawBufferPointer(bytes)
    let count = nghttp2_session_mem_recv(nghttp2, bytes.baseAddress, bytes.count)
    input = nil
    guard failure == nil, count != bytes.count else { return }
    switch Int32(clamping: count) {
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue:
      fail(HTTP2Error(.protocolError, "the client does not begin an HTTP/2 connection"))
    case NGHTTP2_ERR_FLOODED.rawValue:
      fail(HTTP2Error(.enhanceYourCalm, "the peer sent too many PING or SETTINGS frames at once"))
    case let status:
      let reason = status < 0 ? String(cString: nghttp2_strerror(status)) : "bytes were left over"
      fail(HTTP2Error(.internalError, "HTTP/2 cannot be decoded: \(reason)"))
    }
  }

  private func checkBudget() {
    if let complaint = budget.complaint { return fail(HTTP2Error(.enhanceYourCalm, complaint)) }
    if control.count > limits.queuedControlBytes {
      fail(HTTP2Error(.enhanceYourCalm, "the peer sent frames, but did not read \(control.count) bytes of the answers"))
    }
  }

  /// How many empty blocks to keep: for the next heads of the streams in use.
  private var maximumSpareBlocks: Int { min(2 + openStreams, 256) }

  /// Overwrites the heads in `events`, which may have tokens (T50).
  private func wipeHeads() {
    for index in events.indices {
      var event = HTTP2Event.pong
      swap(&event, &events[index])
      switch consume event {
      case .head(_, var block), .trailers(_, var block):
        block.wipe()
        if block.hasMemory, spareBlocks.count < maximumSpareBlocks { spareBlocks.append(block) }
      case .data, .end, .failed, .refused, .drained, .settings, .goAway, .pong: break
      }
    }
  }

  /// Removes and returns the next event of the last call of `receive` or of a sending function.
  package func nextEvent() -> HTTP2Event? {
    while nextIndex < events.count {
      nextIndex += 1
      let event = events[nextIndex - 1]
      if silenced.isEmpty { return event }
      if let stream = event.stream, silenced.contains(stream) { continue }
      return event
    }
    if queuedHeads > 0 { wipeHeads() }
    events.removeAll(keepingCapacity: events.count <= 256)
    queuedHeads = 0
    nextIndex = 0
    silenced.removeAll()
    return nil
  }

  /// Whether the event after the last one is data of `stream`, or the end of its message.
  package func continues(_ stream: StreamID) -> Bool {
    guard nextIndex < events.count else { return false }
    switch events[nextIndex] {
    case .data(stream, _), .end(stream): return true
    default: return false
    }
  }

  /// Whether the next event is the end of the message of `stream`: after a head, its HEADERS frame has ended the message.
  package func isEndNext(of stream: StreamID) -> Bool {
    guard nextIndex < events.count, case .end(stream) = events[nextIndex] else { return false }
    return true
  }

  /// Removes the next event if it is the end of the message of `stream`. Returns whether it was.
  package func takeEnd(of stream: StreamID) -> Bool {
    guard nextIndex < events.count, case .end(stream) = events[nextIndex] else { return false }
    nextIndex += 1
    return true
  }

  /// Whether `nextEvent` has an event.
  package var hasEvents: Bool { nextIndex < events.count }

  /// Whether a header block has begun to arrive, so that nothing else can arrive before its end (RFC 9113 section 4.3).
  package var isReceivingHead: Bool { scanner.isInBlock }

  /// Lets the peer send more on a stream, after `count` bytes of its data were used (RFC 9113 section 6.9). The window of the
  /// connection opens by itself when data arrives, because each stream has its own limit.
  package func consumed(_ count: Int, of stream: StreamID) {
    guard failure == nil, count > 0, streams[stream] != nil else { return }
    _ = nghttp2_session_consume_stream(nghttp2, stream, count)
  }

  /// Whether the peer has ended its message. `true` for unknown streams.
  package func hasEnded(_ stream: StreamID) -> Bool { streams[stream]?.hasReceivedEnd ?? true }

  /// Whether this end has sent its whole message. `true` for unknown streams.
  package func hasSentEnd(_ stream: StreamID) -> Bool { streams[stream]?.hasSentEnd ?? true }

  /// Tells that time has passed, so that the peer may send control frames again. Call this now and then on a connection that
  /// lives long.
  package func refill(seconds: Int) { budget.earn(seconds: seconds) }

  // MARK: the peer's settings

  /// How many streams of ours the peer accepts at the same time. 100 until the peer's settings arrive. 2^32-1 if the
  /// peer has no limit.
  package var maximumStreams: Int {
    Int(nghttp2_session_get_remote_settings(nghttp2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// How many body bytes the peer accepts on all streams together, until it opens its window (RFC 9113 section 6.9).
  package var sendWindow: Int { Int(nghttp2_session_get_remote_window_size(nghttp2)) }

  /// How many body bytes the peer accepts on a stream now. May be negative (RFC 9113 section 6.9.2).
  package func sendWindow(of stream: StreamID) -> Int {
    min(sendWindow, Int(nghttp2_session_get_stream_remote_window_size(nghttp2, stream)))
  }

  /// Whether the peer accepts extended CONNECT (RFC 8441 section 3).
  package var acceptsExtendedConnect: Bool {
    nghttp2_session_get_remote_settings(nghttp2, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1
  }

  /// Whether a client may open streams, now or after other streams have ended. `false` for good after a GOAWAY frame.
  package var takesRequests: Bool { failure == nil && nghttp2_session_check_request_allowed(nghttp2) != 0 }

  /// Whether `sendRequest` can open a stream now.
  package var canSendRequest: Bool { takesRequests && openStreams < maximumStreams }

  /// Whether nothing can happen on the connection any more, except for closing it.
  package var isOver: Bool {
    failure != nil || nghttp2_session_want_read(nghttp2) == 0 && nghttp2_session_want_write(nghttp2) == 0
  }

  // MARK: the end

  /// Ends the connection. nghttp2 is not used any more, because this may be its state after an error.
  func fail(_ error: HTTP2Error) {
    guard failure == nil else { return }
    failure = error
    let last = UInt32(lastStream).bigEndian
    let code = error.code.rawValue.bigEndian
    control += [0, 0, 8, 7, 0, 0, 0, 0, 0]
    withUnsafeBytes(of: (last, code)) { control += $0 }
  }

  func record(_ event: HTTP2Event) { events.append(event) }
}

extension HTTP2Event {
  fileprivate var isData: Bool { if case .data = self { true } else { false } }

  /// The stream of the event. `nil` if the event concerns the connection.
  package var stream: HTTP2Session.StreamID? {
    switch self {
    case .head(let id, _), .data(let id, _), .trailers(let id, _), .end(let id), .failed(let id, _, _),
      .refused(let id, _), .drained(let id):
      id
    case .settings, .goAway, .pong: nil
    }
  }
}
