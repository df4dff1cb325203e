internal import HTTP1
internal import Policy

// The request on its way to the upstream.
extension Exchange {
  /// Begins to send the request on a new or reused session.
  mutating func begin(isReused: Bool, output: inout Output) {
    guard let route, let snapshot else { return }
    session.begin(isReused: isReused, sendsChunks: head.hasChunkedBody)
    reading.begin(snapshot.responseLimits, repairs: snapshot.options(of: route).responses == .repair)
    var notes = ForwardingNotes()
    forwarding.write(
      head, target: target, route: route, snapshot: snapshot, to: &output.upstreamHead, notes: &notes)
    record.removed = notes.removed
    if ConnectionLogin.isAttempted(by: head) { session.hasLogin = true }
    output.grant = grant.map { ConfigurationScoped($0, generation: snapshot.generation) }
    output.caller = caller
    output.isChallenged = authRetry.isChallenged
    output.actions.insert(.sendHead)
    if authRetry.isUnused { keepBody(for: snapshot) } else { resumeBody(for: snapshot, output: &output) }
    if form.isWhole { send(whole: form.body, output: &output) }
  }

  /// Index of the grant whose credential the keyring adds to this request. `nil` if there is none.
  @inline(__always) package var grant: Int? {
    guard forwarding.injects, case .inject(let index) = route?.credential else { return nil }
    return index
  }

  /// Forwards body bytes of the client. Returns `nil`, or a refusal if the framing is invalid.
  mutating func receiveRequestBody(
    _ input: Span<UInt8>, position: inout Int, output: inout Output
  ) -> Refusal? {
    do throws(MessageError) {
      while !requestBody.isComplete {
        switch try requestBody.next(input, position: &position) {
        case .needsMore: return nil
        case .data(let range): sendUp(input, range, output: &output)
        case .end: break
        }
      }
      if session.sendsChunks {
        session.sendsChunks = false
        MessageWriter.lastChunk(trailers: requestTrailers, of: requestBody.trailerBytes, to: &output.toUpstream)
        output.actions.insert(.sendBody)
      }
      return nil
    } catch {
      record.fault = error.fault
      return .malformed(error.reason)
    }
  }

  /// The request's trailers to forward (T14).
  private var requestTrailers: [Field] {
    mutating get {
      guard !requestBody.trailers.isEmpty, let route, let snapshot else { return [] }
      return forwarding.trailers(requestBody, of: head, route: route, snapshot: snapshot, removed: &record.removed)
    }
  }

  package var removedNames: String {
    guard let route, let snapshot else { return record.removed.description(under: nil) }
    return record.removed.description(under: snapshot.headers(of: route))
  }

  private mutating func sendUp(_ input: Span<UInt8>, _ range: Range<Int>, output: inout Output) {
    record.bytesUp &+= UInt64(range.count)
    authRetry.keep(input.extracting(range))
    keepForRetry(input.extracting(range))
    output.actions.insert(.sendBody)
    if session.sendsChunks {
      MessageWriter.chunk(input.extracting(range), to: &output.toUpstream)
    } else {
      output.upstreamBody = output.upstreamBody.isEmpty ? range : output.upstreamBody.lowerBound..<range.upperBound
    }
  }
}
