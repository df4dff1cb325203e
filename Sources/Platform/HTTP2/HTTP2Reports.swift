internal import CNghttp2
internal import HTTP1
internal import Primitives

// What nghttp2 reports. These functions only record.
extension HTTP2Session {
  // MARK: received

  func headerBlockBegins(_ frame: nghttp2_frame) -> Int32 {
    let id = frame.hd.stream_id
    guard frame.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    if frame.headers.cat == NGHTTP2_HCAT_REQUEST {
      openStreams += 1
      lastStream = max(lastStream, id)
      streams.set(HTTP2Stream(isKnown: false), for: id)
    }
    blockStream = streams[id] == nil ? 0 : id
    // nghttp2 has refused the rest of the last block.
    if block.hasMemory { block.wipe() }
    block = spareBlocks.popLast() ?? HeaderBlock()
    return 0
  }

  func fieldArrived(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on id: StreamID) -> Int32 {
    guard id == blockStream else { return 0 }
    let (size, count) = block.append(name: name.span, value: value.span)
    // A byte of HPACK can stand for a field of 4 KiB, so the bytes of one `receive` say little about the memory.
    if queuedHeads &+ size > limits.headerBlocks &* limits.headerBlock {
      fail(HTTP2Error(.enhanceYourCalm, "the peer sent \(queuedHeads) bytes of header blocks at once"))
      return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    let fields = role == .server ? limits.requestFields : limits.responseFields
    if size <= limits.headerBlock, count <= fields { return 0 }
    discardBlock(of: id, because: MessageError(count > fields ? .tooManyFields : .headTooLarge))
    _ = nghttp2_submit_rst_stream(nghttp2, 0, id, HTTP2Code.enhanceYourCalm.rawValue)
    // nghttp2 goes on decoding, because later header blocks need its table (RFC 9113 section 4.3).
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
  }

  /// Called when nghttp2 has refused a frame, and is about to reset its stream.
  func frameWasRefused(_ frame: nghttp2_frame, _ code: nghttp2_error) {
    let id = frame.hd.stream_id
    guard frame.hd.type == UInt8(NGHTTP2_HEADERS.rawValue), role == .server, id == blockStream else { return }
    discardBlock(
      of: id,
      because: code == NGHTTP2_ERR_HTTP_HEADER
        ? MessageError(refusedField.reason, MessageFault(line: block.lines.count + 1))
        : block.requestError ?? MessageError(.badContentLength))
  }

  /// Overwrites a header block that is not used, and that may have tokens (T50).
  private func discardBlock(of id: StreamID, because error: MessageError) {
    blockStream = 0
    if role == .server, streams[id]?.isKnown == false { refusals[id] = error }
    block.wipe()
    block = HeaderBlock()
  }

  func dataArrived(_ bytes: UnsafeBufferPointer<UInt8>, on id: StreamID) -> Int32 {
    _ = nghttp2_session_consume_connection(nghttp2, bytes.count)
    budget.earnByReceivedData(bytes.count)
    guard streams[id] != nil else { return 0 }
    guard let input, let start = input.baseAddress, let first = bytes.baseAddress else {
      return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    let offset = UnsafeRawPointer(first) - start
    guard offset >= 0, offset <= input.count - bytes.count else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    record(.data(id, offset..<offset + bytes.count))
    return 0
  }

  func frameArrived(_ frame: nghttp2_frame) {
    let hasAcknowledged = frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    switch UInt32(frame.hd.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue: messageArrived(frame)
    case NGHTTP2_SETTINGS.rawValue: if !hasAcknowledged { record(.settings) }
    case NGHTTP2_PING.rawValue: if hasAcknowledged { record(.pong) }
    case NGHTTP2_GOAWAY.rawValue:
      record(.goAway(last: frame.goaway.last_stream_id, HTTP2Code(rawValue: frame.goaway.error_code)))
    default: break
    }
  }

  private func messageArrived(_ frame: nghttp2_frame) {
    let id = frame.hd.stream_id
    guard let stream = streams[id] else { return }
    if id == blockStream {
      blockStream = 0
      var block = HeaderBlock()
      swap(&block, &self.block)
      queuedHeads &+= block.size
      if stream.hasFinalHead {
        record(.trailers(id, block))
      } else {
        stream.isKnown = true
        stream.hasFinalHead = role == .server || !block.isInterim
        if !stream.hasFinalHead { budget.charge(.interim) }
        record(.head(id, block))
      }
    }
    if frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
      stream.hasReceivedEnd = true
      record(.end(id))
    }
  }

  func streamClosed(_ id: StreamID, _ code: HTTP2Code) {
    openStreams -= 1
    if openStreams == 0, spareBlocks.count > 2 { spareBlocks.removeLast(spareBlocks.count - 2) }
    requestedResets.remove(id)
    guard let stream = streams.remove(id) else { return }
    earn(by: stream, code)
    if !refusals.isEmpty, let error = refusals.removeValue(forKey: id) { return record(.refused(id, error)) }
    if stream.isKnown, !(stream.hasReceivedEnd && stream.hasSentEnd) {
      record(.failed(id, code, isViolation: stream.isViolated))
    }
  }

  private func earn(by stream: HTTP2Stream, _ code: HTTP2Code) {
    if role == .client {
      // A server may reset a request with NO_ERROR after its whole response (RFC 9113 section 8.1).
      if stream.hasReceivedEnd, code == .noError { budget.earnByResponse() }
    } else if stream.hasReceivedEnd, stream.hasSentEnd {
      budget.earnByRequest()
    } else if stream.hasSentHead, !stream.isViolated {
      budget.earnByReset()
    }
  }

  // MARK: sent

  func frameWasSent(_ frame: nghttp2_frame) {
    let id = frame.hd.stream_id
    let endsStream = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(frame.hd.type) {
    case NGHTTP2_DATA.rawValue:
      budget.earnBySentData(frame.hd.length, isLast: (streams[id]?.queuedBytes ?? 0) == 0)
      if endsStream { endWasSent(id, isReported: role == .server) }
    case NGHTTP2_HEADERS.rawValue:
      headWasSent = id
      if endsStream { endWasSent(id, isReported: role == .server && streams[id]?.trailerLengths.isEmpty == false) }
    case NGHTTP2_RST_STREAM.rawValue:
      if requestedResets.contains(id) { break }
      budget.charge(.ownReset)
      streams[id]?.isViolated = true
    case NGHTTP2_GOAWAY.rawValue: goAwayWasSent(frame.goaway)
    default: break
    }
  }

  private func endWasSent(_ id: StreamID, isReported: Bool) {
    streams[id]?.hasSentEnd = true
    if isReported { record(.drained(id)) }
  }

  private func goAwayWasSent(_ frame: nghttp2_goaway) {
    guard requestedGoAways == 0 else { return requestedGoAways -= 1 }
    let code = HTTP2Code(rawValue: frame.error_code)
    let reason = String(
      decoding: UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len), as: UTF8.self)
    let problem = code == .internalError ? "HTTP/2 failed" : "the peer violated HTTP/2"
    failure = HTTP2Error(code, "\(problem): \(reason.isEmpty ? code.description : reason)")
  }

  /// Fills a DATA frame.
  func takeBody(_ buffer: UnsafeMutableRawBufferPointer, _ flags: inout UInt32, of id: StreamID) -> Int {
    guard let stream = streams[id] else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    let count = stream.take(buffer)
    // A server reports the end of its message instead, which can be sent later.
    if count > 0, stream.queuedBytes == 0, role == .client || !stream.isEnded { record(.drained(id)) }
    if stream.queuedBytes == 0, stream.isEnded {
      flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
      if !stream.trailerLengths.isEmpty, submitTrailers(of: stream, on: id) {
        flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
      }
    } else if count == 0 {
      stream.isDeferred = true
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    return count
  }

  private func submitTrailers(of stream: HTTP2Stream, on id: StreamID) -> Bool {
    let lengths = stream.trailerLengths
    return stream.trailers.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return false }
      return withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { fields in
        // nghttp2 copies the fields.
        var next = UnsafeMutablePointer(mutating: start)
        // Callers share the table of a client (see `HTTP2RequestFields`).
        let flags = role == .client ? UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) : 0
        for (index, (name, value)) in lengths.enumerated() {
          fields.initializeElement(
            at: index, to: nghttp2_nv(name: next, value: next + name, namelen: name, valuelen: value, flags: flags))
          next += name + value
        }
        return nghttp2_submit_trailer(nghttp2, id, fields.baseAddress, lengths.count) == 0
      }
    }
  }
}

extension HeaderBlock {
  /// Whether the head of a response has a 1xx status.
  fileprivate var isInterim: Bool {
    // The first pseudo-header field is `:status`, or else nghttp2 has refused the block.
    guard let status = lines.first?.value, !status.isEmpty else { return false }
    return bytes[status.lowerBound] == 0x31
  }
}
