internal import COpenSSL
internal import Policy

/// A handshake under way. No bytes of an application can be written through it.
package struct Handshake: ~Copyable {
  package enum Progress: Sendable, Equatable { case wantsPeer, finished }

  private var connection: TLSConnection
  private let context: ClientContext
  /// The session that was offered, with what was proved when it began.
  private let offered: KeptSession?

  init(connection: consuming TLSConnection, context: ClientContext, offered: KeptSession?) {
    self.connection = connection
    self.context = context
    self.offered = offered
  }

  /// Feeds what came (empty at the start). Errors are final.
  package mutating func advance(_ input: Span<UInt8>) throws(TLSError) -> Progress {
    try connection.handshake(input) ? .finished : .wantsPeer
  }

  /// The peer closed the transport.
  package mutating func inputEnded() -> TLSError {
    TLSError(kind: .closed, detail: "\(context.identity.origin.host) closed the connection during the TLS handshake")
  }

  /// The only maker of a VerifiedSession: chain, name, purpose, pins — of a full
  /// handshake over the verified chain, of a resumed one by the verdict kept with the session and the leaf again.
  /// Otherwise an alert goes out and the error says what was seen.
  ///
  /// What came with the end of the handshake waits in the session: decrypt once with empty input.
  package consuming func verified(now: Moment) throws(TLSError) -> VerifiedSession {
    let verdict: SessionVerdict
    do throws(TLSError) {
      verdict = try judge(now: now)
    } catch {
      connection.close()
      throw error
    }
    let isResumed = connection.isResumed
    connection.state.verdict = verdict
    storeSession(verdict, isResumed: isResumed)
    context.count(isResumed: isResumed)
    // A look into certificates may leave reasons there
    clearErrors()
    let proof = SessionProof(
      identity: context.identity, pins: verdict.pins, validity: verdict.validity, isResumed: isResumed,
      remark: verdict.remark)
    return VerifiedSession(proof: proof, connection: connection)
  }

  /// Everything that has to hold, whatever OpenSSL checked itself and whether the session is new or resumed.
  private borrowing func judge(now: Moment) throws(TLSError) -> SessionVerdict {
    let host = context.identity.origin.host
    guard connection.isFinished else {
      throw TLSError(kind: .internalError, detail: "the handshake with \(host) is not finished")
    }
    guard connection.isProtocolOurs else {
      throw TLSError(kind: .handshakeFailed, detail: "\(host) chose a protocol other than \(alpn)")
    }
    guard let leaf = connection.leaf else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host) sent no certificate")
    }
    guard connection.chainVerdict == Int(X509_V_OK) else {
      throw .verification(connection.chainVerdict, wanted: host.description, seen: connection.state.rejected)
    }
    guard leaf.isFor(host) else {
      throw TLSError(
        kind: .hostnameMismatch, detail: "wanted: \(host); seen: \(leaf.subject) (\(leaf.alternativeNames))")
    }
    guard leaf.isValid(at: now.calendar) else {
      throw TLSError(
        kind: .certificateExpired, detail: "the certificate of \(host), \(leaf.subject), is expired or not yet valid")
    }
    let pinning = context.identity.trust.pinning
    if let expires = pinning.expires, !pinning.pins.isEmpty, now.calendar >= expires {
      throw TLSError(kind: .pinsExpired, detail: "the pins of \(host) have expired: renew them and `pins_expire`")
    }
    guard connection.isResumed else { return try verifyChain(leaf: leaf, pinning: pinning, now: now) }
    // Only what this context offered can be resumed, and it offers nothing without a verdict
    guard let verdict = offered?.verdict, verdict.holds(at: now), verdict.leafKey == leaf.keyDigest else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host) resumed a TLS session whose verification has expired")
    }
    return verdict
  }

  private borrowing func verifyChain(
    leaf: CertificateView, pinning: PinPolicy, now: Moment
  ) throws(TLSError) -> SessionVerdict {
    let chain = connection.verifiedChain
    // A chain that is not there is never "ok"
    guard let first = chain.first, case let key = leaf.keyDigest, !key.isEmpty, first.isSame(as: leaf)
    else {
      throw TLSError(kind: .certificateInvalid, detail: "\(context.identity.origin.host): there is no verified chain")
    }
    for authority in chain.dropFirst() where !authority.mayVouch(for: context.identity.origin.host) {
      throw TLSError(
        kind: .certificateInvalid,
        detail:
          "\(authority.subject) is not allowed to issue certificates for \(context.identity.origin.host) (name constraints)"
      )
    }
    let (pins, remark) = try evaluatePins(pinning, chain: chain, leafKey: key, host: context.identity.origin.host)
    return SessionVerdict(
      pins: pins, remark: remark, leafKey: key, verifiedAt: now.uptime,
      validity: Validity(of: chain, pinning: pinning))
  }

  private borrowing func storeSession(_ verdict: SessionVerdict, isResumed: Bool) {
    let sessions = connection.state.sessions
    // TLS 1.3 brings its tickets later, in `decrypt`
    let isKeptNow = !connection.isSingleUseProtocol
    if let offered, isKeptNow || !isResumed { sessions.drop(offered) }
    if isKeptNow, let session = connection.session(with: verdict) {
      sessions.keep(session, epoch: connection.state.epoch)
    }
  }
}
