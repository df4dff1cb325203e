// Called by `UpstreamPool.acquire` (`UpstreamAcquisition.swift`), and for token endpoints, probes and reports.
// Calls the resolver and `UpstreamConnection`, which calls `Handshake`.

package import EventLoop
package import Gateway
internal import Log
package import Policy
internal import StatusModel
internal import System
internal import TLS

/// Opens a connection to an upstream: name lookup, TCP connection (RFC 8305) and TLS handshake.
package final class Connector: DeadlineOwner, StreamDelegate, UpstreamOpening {
  /// Receives the outcome once. `nil` after the call, and after `cancel`.
  private var completion: ((Result<UpstreamConnection, ConnectFailure>) -> Void)?
  private let pool: UpstreamPool
  private let timeouts: Timeouts
  private let tally: ServiceTally
  private let context: WorkerContext
  private var untried: [SocketAddress] = []
  private var attempts: [EventLoop.Stream] = []
  private var connection: UpstreamConnection?
  private var connectBy: UInt64 = 0
  /// Start of the TCP connect or of the TLS handshake, in microseconds.
  private var phaseStartedAt: UInt64 = 0
  private var lastFailure: ConnectFailure?
  /// The address of the connection, if bearerd reports failed verifications.
  private var address: SocketAddress?

  /// Milliseconds until the next address is tried in parallel (RFC 8305 section 5).
  private static let attemptDelay: UInt64 = 250

  package init(
    pool: UpstreamPool, timeouts: Timeouts, tally: ServiceTally, context: WorkerContext,
    completion: @escaping (Result<UpstreamConnection, ConnectFailure>) -> Void
  ) {
    self.pool = pool
    self.timeouts = timeouts
    self.tally = tally
    self.context = context
    self.completion = completion
  }

  /// For a connection that belongs to no service, such as the one to a token endpoint or a report server. A failed
  /// verification is not reported.
  /// - Parameter timeout: Maximum milliseconds for TCP, and for TLS.
  package convenience init(
    pool: UpstreamPool, timeout: UInt64, context: WorkerContext,
    completion: @escaping (Result<UpstreamConnection, ConnectFailure>) -> Void
  ) {
    var timeouts = Timeouts()
    (timeouts.connect, timeouts.handshake) = (timeout, timeout)
    self.init(
      pool: pool, timeouts: timeouts, tally: ServiceTally(name: ""), context: context, completion: completion)
  }

  package func start() {
    connectBy = context.loop.now + timeouts.connect
    let port = pool.upstream.origin.port
    switch pool.upstream.hostToDial {
    case .address(let address): race([SocketAddress(ip: address.bytes, port: port)])
    case .name(let name):
      if let addresses = Resolver.loopback(name, port: port) { return resolved(.success(addresses)) }
      context.deadlines.schedule(self, at: connectBy)
      context.resolver.resolve(name, port: port) { [weak self] result in self?.resolved(result) }
    }
  }

  /// Whether `completion` was called, or never will be.
  package var isFinished: Bool { completion == nil }

  /// Stops connecting, without calling `completion`.
  package func cancel() {
    completion = nil
    stop()
    connection?.close()
    connection = nil
  }

  // MARK: addresses

  private func resolved(_ result: Result<[SocketAddress], UVError>) {
    guard completion != nil, attempts.isEmpty, connection == nil else { return }
    switch result {
    case .failure(let error):
      finish(.failure(ConnectFailure(error.isNoSuchName ? .nameNotFound : .nameLookupFailed, error.description)))
    case .success(let addresses):
      let permitted = addresses.filter { address in
        IPAddress(bytes: address.ip).map(pool.upstream.permits) ?? false
      }
      if permitted.isEmpty {
        let seen = addresses.map(\.description).joined(separator: ", ")
        finish(.failure(ConnectFailure(.addressForbidden, "resolved to \(seen)")))
      } else {
        race(Connector.interleave(permitted))
      }
    }
  }

  /// Alternates IPv4 and IPv6 addresses, beginning with the family of the first address (RFC 8305 section 4).
  static func interleave(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard addresses.count > 2, let first = addresses.first else { return addresses }
    var preferred = addresses.filter { $0.ip.count == first.ip.count }[...]
    var other = addresses.filter { $0.ip.count != first.ip.count }[...]
    var result: [SocketAddress] = []
    while !preferred.isEmpty || !other.isEmpty {
      if let address = preferred.popFirst() { result.append(address) }
      if let address = other.popFirst() { result.append(address) }
    }
    return result
  }

  // MARK: TCP

  private func race(_ addresses: [SocketAddress]) {
    untried = addresses
    phaseStartedAt = Clock.monotonicMicroseconds
    connectNext()
  }

  private func connectNext() {
    while !untried.isEmpty {
      let address = untried.removeFirst()
      do throws(UVError) {
        attempts.append(try EventLoop.Stream(loop: context.loop, connectingTo: address, delegate: self))
        let next = untried.isEmpty ? connectBy : min(connectBy, context.loop.now + Connector.attemptDelay)
        context.deadlines.schedule(self, at: .max)
        context.deadlines.schedule(self, at: next)
        return
      } catch {
        lastFailure = ConnectFailure(connect: error)
      }
    }
    if attempts.isEmpty { finish(.failure(lastFailure ?? ConnectFailure(.connectionFailed, "no address"))) }
  }

  package override func deadlinePassed() {
    if context.loop.now < connectBy, !untried.isEmpty {
      connectNext()
    } else if attempts.isEmpty {
      finish(.failure(ConnectFailure(.nameTimeout, "the name server did not respond in time")))
    } else {
      finish(.failure(ConnectFailure(.connectionTimeout, "the connection attempt had no response in time")))
    }
  }

  package func streamDidConnect(_ stream: EventLoop.Stream) {
    attempts.removeAll { $0 === stream }
    stop()
    tally.recordConnect(microseconds: endPhase())
    let connection = UpstreamConnection(stream: stream, pool: pool, context: context)
    self.connection = connection
    // Only the tallies of services have names.
    let isReported = context.onVerificationFailure != nil && !tally.name.isEmpty
    if isReported { address = stream.peerAddress }
    connection.open(
      for: self, timeout: timeouts.handshake, evidence: isReported ? EvidenceRecorder() : nil)
  }

  package func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    attempts.removeAll { $0 === stream }
    stream.close()
    lastFailure = ConnectFailure(connect: error)
    if error.isTooManyFiles { context.onDescriptorShortage() }
    if !untried.isEmpty || attempts.isEmpty { connectNext() }
  }

  package func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {}
  package func streamDidEnd(_ stream: EventLoop.Stream) {}
  package func streamDidDrain(_ stream: EventLoop.Stream) {}

  // MARK: TLS

  func connectionIsOpen(_ connection: UpstreamConnection) {
    self.connection = nil
    connection.tally = tally
    tally.count(connection.applicationProtocol == .http2 ? .connectionsHTTP2 : .connectionsHTTP1)
    if let proof = connection.proof {
      tally.recordHandshake(microseconds: endPhase(), isResumed: proof.isResumed)
      switch proof.pins {
      case .none: break
      case .matched: tally.count(.pinsMatched)
      case .reported:
        tally.count(.pinsReported)
        report(.pinMismatch, of: connection)
      }
      record(proof)
    }
    finish(.success(connection))
  }

  /// Records the upstream's certificate. Logs if the upstream no longer has the key of the first pin.
  private func record(_ proof: SessionProof) {
    let seen = UpstreamCertificate(
      seenAt: Clock.now.seconds, begins: proof.leafValidity.begins, ends: proof.leafValidity.ends, pin: proof.matchedPin
    )
    guard tally.record(seen), let matched = proof.matchedPin, let first = proof.identity.trust.pinning.pins.first,
      matched != first
    else { return }
    let upstream = pool.upstream.origin.description
    guard context.log.sink?.recordIfChanged("backup-pin \(upstream)", "\(first) \(matched)") ?? true else { return }
    context.log.event(
      .backupPin, ("upstream", upstream), ("first", first.description), ("matched", matched.description),
      (
        "help",
        "if the upstream has changed its key on purpose, list the matching pin first, and add the pin of a new backup key"
      ))
  }

  func connection(_ connection: UpstreamConnection, didFailToOpen refusal: RefusalCode, detail: String) {
    self.connection = nil
    if refusal == .pinMismatch { tally.count(.pinsMismatched) }
    report(refusal, of: connection)
    finish(.failure(ConnectFailure(refusal, detail)))
  }

  private func report(_ verdict: RefusalCode, of connection: UpstreamConnection) {
    guard let onFailure = context.onVerificationFailure, VerificationFailure.isReported(verdict),
      let evidence = connection.evidence?.take(), let identity = pool.context?.identity
    else { return }
    onFailure(
      VerificationFailure(
        service: tally.name, upstream: pool.upstream, address: address?.description ?? "", verdict: verdict,
        pinning: identity.trust.pinning, served: evidence.served, validated: evidence.validated,
        fingerprint: evidence.fingerprint, leafEnds: evidence.leafEnds))
  }

  private func endPhase() -> UInt64 {
    let now = Clock.monotonicMicroseconds
    defer { phaseStartedAt = now }
    return now &- phaseStartedAt
  }

  // MARK: completion

  private func stop() {
    context.deadlines.cancel(self)
    untried = []
    for stream in attempts { stream.close() }
    attempts = []
  }

  private func finish(_ result: Result<UpstreamConnection, ConnectFailure>) {
    stop()
    let completion = completion
    self.completion = nil
    completion?(result.mapError { $0.naming(pool.upstream) })
  }
}

/// Why no connection was opened: the refusal for the client, and a detail for the log.
package struct ConnectFailure: Error {
  package let refusal: Refusal
  package let detail: String

  package init(_ code: RefusalCode, _ detail: String) { self.init(.plain(code), detail) }

  package init(_ refusal: Refusal, _ detail: String) {
    self.refusal = refusal
    self.detail = detail
  }

  /// Returns the failure with the host and port that bearerd connected to, if the upstream's name does not show them.
  fileprivate func naming(_ upstream: Upstream) -> ConnectFailure {
    guard let host = upstream.dialHost else { return self }
    return ConnectFailure(refusal, "at \(host):\(upstream.origin.port): \(detail)")
  }

  init(connect error: UVError) {
    self.init(error.isConnectionRefused ? .connectionRefused : .connectionFailed, error.description)
  }
}
