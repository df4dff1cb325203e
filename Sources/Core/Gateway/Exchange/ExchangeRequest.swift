internal import HTTP1
package import Policy

extension Snapshot {
  /// Whether only connections with HTTP/1.1 can carry the requests of this route.
  package func needsHTTP1(_ route: Route) -> Bool {
    switch route.credential {
    case .none: false
    case .pass: options(of: route).dedicatedConnections
    // Requests without the credential must not share the connection of a request with it.
    case .inject(let grant): rules.grants[grant].authRetry.requiresChallenge
    }
  }
}

// The request on its way to the upstream.
extension Exchange {
  /// Begins to send the request on a new or reused connection. The body that is sent with the head is `wholeBody`.
  mutating func begin(isReused: Bool, output: inout Output) {
    guard let route, let snapshot else { return }
    session.begin(isReused: isReused)
    var notes = ForwardingNotes()
    forwarding.write(
      head, over: record.clientProtocol, target: target, route: route, snapshot: snapshot,
      to: &output.upstreamRequest, notes: &notes)
    record.removed = notes.removed
    if attemptsLogin { session.hasLogin = true }
    output.results.grant = grant.map { ConfigurationScoped($0, generation: snapshot.generation) }
    output.results.caller = caller
    output.results.isChallenged = authRetry.isChallenged
    output.actions.insert(.sendHead)
    if !authRetry.keepsWholeBody, sentBody == nil { keepBody(for: snapshot) }
  }

  /// The whole body of a request that was sent before, or of a form that is signed. `nil` if the body is sent as it
  /// arrives.
  @inline(__always) var wholeBody: [UInt8]? {
    if form.isWhole { return form.body }
    guard authRetry.keepsWholeBody else { return nil }
    return authRetry.isUnderWay ? authRetry.body : authRetry.upstreamRetry?.body
  }

  /// Index of the grant whose credential the keyring adds to this request. `nil` if there is none.
  @inline(__always) package var grant: Int? {
    guard forwarding.injects, case .inject(let index) = route?.credential else { return nil }
    return index
  }

  /// Returns `grant` if the configuration `generation` has decided the request, otherwise `nil`.
  package mutating func grant(inGeneration generation: UInt64) -> Int? {
    decision.snapshot?.generation == generation ? grant : nil
  }

  /// Whether only a connection with HTTP/1.1 can carry the request. Call this after the request was decided. See also
  /// `Snapshot.needsHTTP1`.
  package var needsHTTP1: Bool {
    // HTTP/2 has no Upgrade field (RFC 9113 section 8.6). A login applies to the whole connection (T25), and the requests of
    // several clients share an HTTP/2 connection.
    mutating get { forwarding.upgrade != nil && !opensWebSocket || attemptsLogin }
  }

  /// Whether the client sends a message of a login that applies to the whole connection.
  private var attemptsLogin: Bool {
    // The first check is nearly always `false`, and saves a copy of the head.
    @inline(__always) mutating get { head.hasAuthorization && ConnectionLogin.isAttempted(by: head) }
  }

  /// Records body bytes on their way to the upstream.
  @inline(__always)
  mutating func receivedBody(_ bytes: Span<UInt8>) {
    record.bytesUp &+= UInt64(bytes.count)
    authRetry.keep(bytes)
    keepForRetry(bytes)
  }

  /// The request's trailers to forward (T14), as ranges into `requestTrailers.bytes`.
  var forwardedTrailers: [Field] {
    mutating get {
      guard !requestTrailers.isEmpty, let route, let snapshot else { return [] }
      return forwarding.trailers(requestTrailers, of: head, route: route, snapshot: snapshot, removed: &record.removed)
    }
  }

  package var removedNames: String {
    guard let route, let snapshot else { return record.removed.description(under: nil) }
    return record.removed.description(under: snapshot.headers(of: route))
  }
}
