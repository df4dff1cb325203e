// Called by `UpstreamConnection.send`.
// Calls `CredentialSlot` and a `HeadEncoder`, which writes to the `VerifiedSession`.

@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System
package import HTTP1
package import HTTP2
package import Policy
package import TLS

extension Keyring {
  /// Sends the head of `request` with the credential, and `body`, in one TLS record if they fit.
  ///
  /// Sends nothing unless the grant allows the session's origin and `caller`, and the session's checks are still valid.
  /// After the error `sessionFailed`, the connection is unusable.
  ///
  /// - Parameters:
  ///   - body: the first bytes of the body, as sent.
  ///   - now: seconds since 1970.
  ///   - isChallenged: whether the upstream has already responded to this request with a challenge.
  ///   - cookies: the ticket for the jar whose cookies are also sent; `nil` to send none.
  /// - Returns: the attempt, which must be notified of the response; `nil` if no notification is needed.
  @discardableResult
  package func authorize(
    grant index: Int, request: borrowing OutgoingRequest, body: Span<UInt8>, caller: Caller, now: Int64,
    isChallenged: Bool = false, cookies ticket: JarTicket? = nil, over session: inout VerifiedSession
  ) throws(AuthorizationError) -> ChallengeAttempt? {
    stage.vacate()
    return try authorize(
      grant: index, request: request, body: body, caller: caller, now: now, isChallenged: isChallenged,
      cookies: ticket, with: HTTP1HeadEncoder(staging: staging.bytes), over: &session
    ).attempt
  }

  /// Like the function above, for a session that uses HTTP/2.
  /// - Parameters:
  ///   - body: the first bytes of the body, without framing.
  ///   - endsBody: whether `body` is the whole body. The stream is then ended, as for a request without a body.
  ///   - connection: the state of the session's HTTP/2 connection. Still usable after the error `streamRefused`.
  ///   - user: the connection that calls `write` of `stage(of: user)` at the end of the turn. `nil` to send at once.
  /// - Returns: also the stream of the request.
  @discardableResult
  package func authorize(
    grant index: Int, request: borrowing OutgoingRequest, body: Span<UInt8>, endsBody: Bool, caller: Caller,
    now: Int64, isChallenged: Bool = false, cookies ticket: JarTicket? = nil, through connection: HTTP2Session,
    delayedBy user: (any RequestStageUser)? = nil, over session: inout VerifiedSession
  ) throws(AuthorizationError) -> (stream: HTTP2Session.StreamID, attempt: ChallengeAttempt?) {
    if user == nil { stage.vacate() }
    let encoder = HTTP2HeadEncoder(
      session: connection, fields: fields, stage: stage, user: user, staging: staging.bytes, arena: reader.arena,
      endsBody: endsBody)
    let (stream, attempt) = try authorize(
      grant: index, request: request, body: body, caller: caller, now: now, isChallenged: isChallenged,
      cookies: ticket, with: encoder, over: &session)
    return (stream, attempt)
  }

  /// Returns the stage with requests of this connection that wait. `nil` if none wait.
  package func stage(of user: any RequestStageUser) -> RequestStage? { stage.user === user ? stage : nil }

  /// Like the functions above, with the encoder of any HTTP version.
  @inline(__always)
  func authorize<Encoder: HeadEncoder>(
    grant index: Int, request: borrowing OutgoingRequest, body: Span<UInt8>, caller: Caller, now: Int64,
    isChallenged: Bool, cookies ticket: JarTicket?, with encoder: Encoder, over session: inout VerifiedSession
  ) throws(AuthorizationError) -> (sent: Encoder.Sent, attempt: ChallengeAttempt?) {
    guard let slot = slot(index) else {
      throw AuthorizationError(reason: .unknownGrant, detail: "there is no such credential")
    }
    try check(
      slot.entry.grant, caller: caller, proof: session.proof, applicationProtocol: encoder.applicationProtocol, now: now
    )
    guard request.isComplete else {
      let detail = "the request line or the fields of the request are not complete"
      throw AuthorizationError(reason: .sessionFailed(TLSError(kind: .internalError, detail: detail)), detail: detail)
    }
    guard slot.rendered.isPlain || request.hasPath else {
      let detail = "credential \(slot.entry.grant.name) changes the URL of a request, and this request has no path"
      throw AuthorizationError(reason: .unavailable, detail: detail)
    }
    let jarCookies: CookieLine? =
      if let ticket { try jarCookieLine(of: ticket, slot, request, session.proof) } else { nil }
    switch slot.lines {
    case .none:
      throw AuthorizationError(reason: .unavailable, detail: slot.problem ?? "the credential is not available")
    case .some(let lines):
      guard slot.traits.respondsToChallenges, slot.traits.reactiveAuthentication == nil || !isChallenged else {
        let patterns = try patterns(slot, nil, jarCookies)
        let sent: Encoder.Sent
        if slot.rendered.isPlain {
          let isCookie = slot.entry.grant.cookie != nil
          sent = try lines.withBytes { (lines) throws(AuthorizationError) in
            try encoder.send(
              request, with: CredentialParts(lines: lines, isCookie: isCookie, jar: jarCookies), body: body,
              over: &session)
          }
        } else {
          sent = try sendPlaced(request, slot, lines, jarCookies, body, now: now, with: encoder, over: &session)
        }
        slot.sent = patterns
        return (sent, nil)
      }
      let response = try slot.challengeResponse(to: request, of: session.proof.identity.origin, lines, in: reader.arena)
      let patterns = try patterns(slot, response.attempt, jarCookies)
      let sent = try response.line.withBytes { (line) throws(AuthorizationError) in
        try encoder.send(request, with: CredentialParts(lines: line, jar: jarCookies), body: body, over: &session)
      }
      slot.sent = patterns
      return (sent, response.attempt)
    }
  }

  private func patterns(
    _ slot: CredentialSlot, _ attempt: ChallengeAttempt?, _ jarCookies: CookieLine?
  ) throws(AuthorizationError) -> SecretPatterns? {
    // Called before anything is sent: a response that cannot be searched must not arrive.
    guard attempt != nil || jarCookies != nil else { return slot.rendered.patterns }
    do throws(SystemError) {
      return try slot.patterns(sentBy: attempt, with: jarCookies, in: reader.arena)
    } catch {
      throw AuthorizationError(reason: .unavailable, detail: "cannot allocate memory for secrets: \(error)")
    }
  }

  private func check(
    _ grant: Grant, caller: Caller, proof: SessionProof, applicationProtocol: ApplicationProtocol, now: Int64
  ) throws(AuthorizationError) {
    let origin = proof.identity.origin
    guard origin.scheme == .https, grant.allows(origin) else {
      throw AuthorizationError(reason: .originNotGranted, detail: "credential \(grant.name) may not go to \(origin)")
    }
    guard proof.identity.grant == grant.name else {
      throw AuthorizationError(
        reason: .wrongSession, detail: "the session to \(origin) was not opened for credential \(grant.name)")
    }
    guard proof.applicationProtocol == applicationProtocol else {
      throw AuthorizationError(
        reason: .wrongSession,
        detail:
          "the session to \(origin) uses \(proof.applicationProtocol.name), and the request is \(applicationProtocol.name)"
      )
    }
    guard proof.identity.generation == configuration else {
      throw AuthorizationError(
        reason: .wrongSession,
        detail:
          "the session to \(origin) was opened under configuration \(proof.identity.generation), not \(configuration)")
    }
    guard grant.callers?.admits(caller) ?? true else {
      let who = caller.uid.map { "uid \($0)" } ?? "the network"
      let client = caller.client.map { ", client \($0)" } ?? ""
      throw AuthorizationError(reason: .callerNotGranted, detail: "credential \(grant.name) is not for \(who)\(client)")
    }
    for part in grant.parts {
      guard part.allows(origin) else {
        throw AuthorizationError(reason: .originNotGranted, detail: "credential \(part.name) may not go to \(origin)")
      }
      guard part.callers?.admits(caller) ?? true else {
        throw AuthorizationError(reason: .callerNotGranted, detail: "credential \(part.name) is not for this caller")
      }
    }
    try proof.check(at: now)
  }
}

extension SessionProof {
  /// Throws if the session did not match its pins, or if the checks of its certificate are no longer valid.
  /// - Parameter now: seconds since 1970.
  package func check(at now: Int64) throws(AuthorizationError) {
    let pinning = identity.trust.pinning
    let satisfiesPins =
      switch pins {
      case .matched: true
      case .none: pinning.pins.isEmpty
      case .reported: pinning.mode == .report
      }
    guard satisfiesPins else {
      throw AuthorizationError(
        reason: .pinsNotMatched, detail: "the session to \(identity.origin) did not match its pins")
    }
    guard validity.contains(now) else {
      throw AuthorizationError(
        reason: .proofExpired, detail: "the certificate or pins of the session to \(identity.origin) have expired")
    }
  }
}
