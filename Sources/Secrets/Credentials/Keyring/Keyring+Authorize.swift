@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System
package import Policy
package import TLS

extension Keyring {
  /// Writes `head`, the credential's header fields, the empty line and `body`, in one TLS record if they fit.
  ///
  /// Sends nothing unless the grant allows the session's origin and `caller`, and the session's checks are still valid.
  /// After the error `sessionFailed`, the connection is unusable.
  ///
  /// - Parameters:
  ///   - head: a complete head without the closing CRLF.
  ///   - now: seconds since 1970.
  ///   - isChallenged: whether the upstream has already responded to this request with a challenge.
  ///   - cookies: the ticket for the jar whose cookies are also sent; `nil` to send none.
  /// - Returns: the attempt, which must be notified of the response; `nil` if no notification is needed.
  @discardableResult
  package func authorize(
    grant index: Int, head: Span<UInt8>, body: Span<UInt8>, caller: Caller, now: Int64, isChallenged: Bool = false,
    cookies ticket: JarTicket? = nil, over session: inout VerifiedSession
  ) throws(AuthorizationError) -> ChallengeAttempt? {
    guard let slot = slot(index) else {
      throw AuthorizationError(reason: .unknownGrant, detail: "there is no such credential")
    }
    try check(slot.entry.grant, caller: caller, proof: session.proof, now: now)
    guard endsBeforeClosing(head) else {
      let detail = "the staged head does not end before its closing CRLF"
      throw AuthorizationError(reason: .sessionFailed(TLSError(kind: .internalError, detail: detail)), detail: detail)
    }
    guard slot.rendered.isPlain || head.withUnsafeBytes({ HeadTarget($0) }) != nil else {
      let detail = "credential \(slot.entry.grant.name) changes the URL of a request, and this request has no path"
      throw AuthorizationError(reason: .unavailable, detail: detail)
    }
    let cookies = slot.entry.grant.cookie == nil ? nil : CookieMerge(head)
    let jarCookies: CookieLine? =
      if let ticket { try jarCookieLine(of: ticket, slot, head, session.proof) } else { nil }
    switch slot.lines {
    case .none:
      throw AuthorizationError(reason: .unavailable, detail: slot.problem ?? "the credential is not available")
    case .some(let lines):
      guard slot.traits.respondsToChallenges, slot.traits.reactiveAuthentication == nil || !isChallenged else {
        let patterns = try patterns(slot, nil, jarCookies)
        do throws(TLSError) {
          if slot.rendered.isPlain {
            try write(head, cookies, lines, jarCookies, body, to: &session)
          } else {
            try writePlaced(head, slot, lines, jarCookies, body, now: now, to: &session)
          }
        } catch {
          throw AuthorizationError(error)
        }
        slot.sent = patterns
        return nil
      }
      let response = try slot.challengeResponse(to: head, of: session.proof.identity.origin, lines, in: reader.arena)
      let patterns = try patterns(slot, response.attempt, jarCookies)
      do throws(TLSError) {
        try write(head, nil, response.line, jarCookies, body, to: &session)
      } catch {
        throw AuthorizationError(error)
      }
      slot.sent = patterns
      return response.attempt
    }
  }

  /// Returns the patterns for the response.
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

  private func check(_ grant: Grant, caller: Caller, proof: SessionProof, now: Int64) throws(AuthorizationError) {
    let origin = proof.identity.origin
    guard origin.scheme == .https, grant.allows(origin) else {
      throw AuthorizationError(reason: .originNotGranted, detail: "credential \(grant.name) may not go to \(origin)")
    }
    guard proof.identity.grant == grant.name else {
      throw AuthorizationError(
        reason: .wrongSession, detail: "the session to \(origin) was not opened for credential \(grant.name)")
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

  /// Whether the head has no empty line at its end yet.
  private func endsBeforeClosing(_ head: Span<UInt8>) -> Bool {
    // The fields of the credential follow, and after an empty line they would become part of the body.
    let count = head.count
    guard count >= 4, head[count - 2] == 0x0D, head[count - 1] == 0x0A else { return false }
    return head[count - 4] != 0x0D || head[count - 3] != 0x0A
  }

  private func write(
    _ head: Span<UInt8>, _ cookies: CookieMerge?, _ lines: borrowing Secret, _ jarCookies: CookieLine?,
    _ body: Span<UInt8>, to session: inout VerifiedSession
  ) throws(TLSError) {
    var stage = RecordBuffer(memory: staging.bytes)
    defer { stage.wipe() }
    let end = cookies?.end ?? head.count
    try head.extracting(first: end).withUnsafeBytes { (bytes) throws(TLSError) in
      try stage.append(bytes, session: &session)
    }
    if cookies != nil { try stage.appendPair(0x3B, 0x20, session: &session) }
    try lines.withBytes { (bytes) throws(TLSError) in
      let line = cookies == nil ? bytes : UnsafeRawBufferPointer(rebasing: bytes.dropFirst(CookieMerge.nameCount))
      try stage.append(line, session: &session)
    }
    try stage.append(jarCookies, session: &session)
    try stage.appendLineBreak(session: &session)
    try body.withUnsafeBytes { (bytes) throws(TLSError) in try stage.append(bytes, session: &session) }
    try stage.flush(session: &session)
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
