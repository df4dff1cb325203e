// Called by `UpstreamConnection.advance`.
// Calls OpenSSL, then `checkNameConstraints`, `evaluatePins` and `Staple.check`.

internal import COpenSSL
internal import Policy

/// A TLS handshake in progress. It cannot send application data.
package struct Handshake: ~Copyable {
  package enum Progress: Sendable, Equatable { case wantsPeer, finished }

  private var connection: TLSConnection
  private let context: ClientContext
  private let offered: CachedSession?

  init(connection: consuming TLSConnection, context: ClientContext, offered: CachedSession?) {
    self.connection = connection
    self.context = context
    self.offered = offered
  }

  /// Processes received bytes. Empty input starts the handshake. After an error, the handshake cannot continue.
  package mutating func advance(_ input: Span<UInt8>) throws(TLSError) -> Progress {
    do throws(TLSError) { return try connection.handshake(input) ? .finished : .wantsPeer } catch {
      connection.recordEvidence()
      throw error
    }
  }

  /// Returns the error for a peer that closed the transport.
  package mutating func inputEnded() -> TLSError {
    let host = context.identity.origin.host
    let state = connection.state
    let advice = state.greeting.isEmpty ? "it sent nothing: does this port speak TLS?" : state.advice
    return TLSError(
      kind: .closed,
      detail: "\(host) closed the connection during the TLS handshake" + (advice.map { " (\($0))" } ?? ""))
  }

  /// The certificates that the server sent, in its order and not verified. At most `ChainLimits.certificates`.
  package var servedChain: [CertificateDescription] { connection.describeServedChain() }

  /// Why the peer may have ended the connection, for the log; `nil` if nothing is known.
  package var advice: String? { connection.state.advice }

  /// Checks chain, name, time, pins and revocation, and returns a session that can send data. On failure, closes the
  /// connection and throws. After success, call `decrypt` once with empty input to get data that has already arrived.
  package consuming func verified(now: Moment) throws(TLSError) -> VerifiedSession {
    let applicationProtocol: ApplicationProtocol
    let verdict: SessionVerdict
    do throws(TLSError) {
      applicationProtocol = try selectedProtocol()
      verdict = try verify(now: now)
    } catch {
      connection.recordEvidence()
      connection.close()
      throw error
    }
    connection.dropStaple()
    let isResumed = connection.isResumed
    // A resumed session repeats the verdict of an earlier connection.
    if verdict.pins == .reported, !isResumed { connection.recordEvidence() }
    connection.state.verdict = verdict
    storeSession(verdict, isResumed: isResumed)
    context.count(isResumed: isResumed)
    // Reading certificates may leave errors in the queue.
    clearErrors()
    let proof = SessionProof(
      identity: context.identity, applicationProtocol: applicationProtocol,
      isProtocolSelected: !connection.selectedProtocol.isEmpty, verdict, isResumed: isResumed)
    return VerifiedSession(proof: proof, connection: connection)
  }

  /// Returns the protocol that the server selected. Throws if the identity does not offer it.
  private borrowing func selectedProtocol() throws(TLSError) -> ApplicationProtocol {
    let name = connection.selectedProtocol
    // HTTP/2 over TLS requires a selection (RFC 9113 section 3.2).
    let selected = name.isEmpty ? .http1 : ApplicationProtocol(rawValue: name)
    guard let selected, context.identity.protocols.contains(selected) else {
      let selection = name.isEmpty ? "no protocol" : selected?.name ?? "another protocol"
      let host = context.identity.origin.host
      let conclusion = context.identity.protocols == [.http2] ? "\(host) does not speak HTTP/2: it" : "\(host)"
      throw TLSError(
        kind: .handshakeFailed,
        detail: "\(conclusion) selected \(selection) in the TLS handshake. \(connection.state.offeredProtocols)")
    }
    return selected
  }

  private borrowing func verify(now: Moment) throws(TLSError) -> SessionVerdict {
    let host = context.identity.origin.host
    guard connection.isFinished else {
      throw TLSError(kind: .internalError, detail: "the handshake with \(host) is not finished")
    }
    guard let leaf = connection.leaf else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host) sent no certificate")
    }
    guard connection.chainVerdict == Int(X509_V_OK) else {
      throw .verification(connection.chainVerdict, wanted: host.description, seen: connection.state.rejectedCertificate)
    }
    guard leaf.isFor(host) else {
      throw TLSError(
        kind: .hostnameMismatch, detail: Rejection.mismatch(of: leaf, host: host))
    }
    guard leaf.isValid(at: now.calendar) else {
      throw TLSError(
        kind: .certificateExpired,
        detail: "the certificate of \(host), \(leaf.subject), \(leaf.validity.fault(at: now.calendar))")
    }
    let pinning = context.identity.trust.pinning
    if let expires = pinning.expires, !pinning.pins.isEmpty, now.calendar >= expires {
      throw TLSError(kind: .pinsExpired, detail: "the pins of \(host) have expired: renew them and `pins_expire`")
    }
    guard connection.isResumed else { return try verifyChain(leaf: leaf, pinning: pinning, now: now) }
    // Only an offered session can be resumed, and every offered session has a verdict.
    guard let verdict = offered?.verdict, verdict.holds(at: now), verdict.leafKey == leaf.keyDigest else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host) resumed a TLS session whose verification has expired")
    }
    return verdict
  }

  private borrowing func verifyChain(
    leaf: CertificateView, pinning: PinPolicy, now: Moment
  ) throws(TLSError) -> SessionVerdict {
    let (chain, host) = (connection.verifiedChain, context.identity.origin.host)
    // An empty chain is never valid.
    guard let first = chain.first, case let key = leaf.keyDigest, !key.isEmpty, first.isSame(as: leaf) else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host): there is no verified chain")
    }
    try checkNameConstraints(chain, host: host)
    let (pins, matched, remark) = try evaluatePins(pinning, chain: chain, leafKey: key, host: host)
    let stapleEnd = try Staple.check(
      connection.staple, chain: chain, leafIsAnchor: connection.state.leafIsAnchor,
      policy: context.identity.trust.revocation, host: host, now: now.calendar)
    let listsEnd = connection.state.listsEnd
    if let listsEnd, now.calendar >= listsEnd {
      throw TLSError(kind: .revocationUnknown, detail: "a revocation list for \(host) has expired")
    }
    return SessionVerdict(
      pins: pins, matchedPin: matched, remark: remark, leafKey: key, verifiedAt: now.uptime,
      validity: Validity(
        of: chain, pinning: pinning, revocationEnds: [stapleEnd, listsEnd].compactMap { $0 }.min()),
      leafValidity: leaf.validity)
  }

  private borrowing func storeSession(_ verdict: SessionVerdict, isResumed: Bool) {
    let sessions = connection.state.sessions
    // TLS 1.3 tickets arrive later, in `decrypt`.
    let isKeptNow = !connection.usesSingleUseTickets
    if let offered, isKeptNow || !isResumed { sessions.remove(offered) }
    if isKeptNow, let session = connection.session(with: verdict) {
      sessions.insert(session, epoch: connection.state.epoch)
    }
  }
}
