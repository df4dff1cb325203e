@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System
package import Policy
package import TLS

extension Keyring {
  /// Writes the staged head (a complete head but for the closing CRLF), the credential's fields, CRLF, and
  /// `body`, in one TLS record where they fit; if and only if the grant names the session's origin and this caller, and the
  /// session's proof is what the grant demands, and holds now.
  ///
  /// Nothing is sent unless everything holds. `sessionFailed`: the connection is of no use any more.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - isAsked: the upstream has answered this very request, and asked for the credential. Without it, one that waits for that
  ///     stays here, and the head goes out bare.
  ///   - cookies: of this credential and this origin: what they have go out as well. nil: there is no jar.
  /// What to look for in the answer has `takeSent`.
  /// - Returns: whom to tell of the answer; nil: what went out does not depend on answers.
  @discardableResult
  package func authorize(
    grant index: Int, head: Span<UInt8>, body: Span<UInt8>, caller: Caller, now: Int64, isAsked: Bool = false,
    cookies ticket: JarTicket? = nil, over session: inout VerifiedSession
  ) throws(AuthorizationError) -> ChallengeAttempt? {
    guard index >= 0, index < slots.count else {
      throw AuthorizationError(reason: .unknownGrant, detail: "there is no such credential")
    }
    let slot = slots[index]
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
    let kept: CookieLine? = if let ticket { try keptCookies(of: ticket, slot, head, session.proof) } else { nil }
    switch slot.lines {
    case .none:
      throw AuthorizationError(reason: .unavailable, detail: slot.problem ?? "the credential is not available")
    case .some(let lines):
      guard slot.traits.answersChallenges, slot.traits.reactiveAuthentication == nil || !isAsked else {
        let patterns = try patterns(slot, nil, kept)
        if slot.rendered.isPlain {
          try send(head, cookies, lines, kept, body, to: &session)
        } else {
          try sendPlaced(head, slot, lines, kept, body, now: now, to: &session)
        }
        slot.sent = patterns
        return nil
      }
      let answer = try slot.answer(to: head, of: session.proof.identity.origin, lines, in: reader.arena)
      let patterns = try patterns(slot, answer.attempt, kept)
      try send(head, nil, answer.line, kept, body, to: &session)
      slot.sent = patterns
      return answer.attempt
    }
  }

  /// Before anything goes out: an answer that cannot be searched must not come.
  private func patterns(
    _ slot: CredentialSlot, _ attempt: ChallengeAttempt?, _ kept: CookieLine?
  ) throws(AuthorizationError) -> SecretPatterns? {
    guard attempt != nil || kept != nil else { return slot.rendered.patterns }
    do throws(SystemError) {
      return try slot.patterns(sentBy: attempt, with: kept, in: reader.arena)
    } catch {
      throw AuthorizationError(reason: .unavailable, detail: "cannot allocate memory for secrets: \(error)")
    }
  }

  private func sendPlaced(
    _ head: Span<UInt8>, _ slot: CredentialSlot, _ lines: borrowing Secret, _ kept: CookieLine?, _ body: Span<UInt8>,
    now: Int64, to session: inout VerifiedSession
  ) throws(AuthorizationError) {
    do throws(TLSError) {
      try place(head, slot, lines, kept, body, now: now, to: &session)
    } catch {
      throw AuthorizationError(reason: .sessionFailed(error), detail: error.description)
    }
  }

  private func send(
    _ head: Span<UInt8>, _ cookies: CookieMerge?, _ lines: borrowing Secret, _ kept: CookieLine?,
    _ body: Span<UInt8>, to session: inout VerifiedSession
  ) throws(AuthorizationError) {
    do throws(TLSError) {
      try write(head, cookies, lines, kept, body, to: &session)
    } catch {
      throw AuthorizationError(reason: .sessionFailed(error), detail: error.description)
    }
  }

  private func check(_ grant: Grant, caller: Caller, proof: SessionProof, now: Int64) throws(AuthorizationError) {
    let origin = proof.identity.origin
    guard origin.scheme == .https, grant.names(origin) else {
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
      guard part.names(origin) else {
        throw AuthorizationError(reason: .originNotGranted, detail: "credential \(part.name) may not go to \(origin)")
      }
      guard part.callers?.admits(caller) ?? true else {
        throw AuthorizationError(reason: .callerNotGranted, detail: "credential \(part.name) is not for this caller")
      }
    }
    guard satisfies(proof.pins, proof.identity.trust.pinning) else {
      throw AuthorizationError(reason: .pinsNotMatched, detail: "the session to \(origin) did not match its pins")
    }
    guard proof.validity.contains(now) else {
      throw AuthorizationError(
        reason: .proofExpired, detail: "the certificate or pins of the session to \(origin) have expired")
    }
  }

  private func satisfies(_ verdict: SessionProof.PinVerdict, _ pinning: PinPolicy) -> Bool {
    switch verdict {
    case .matched: true
    case .none: pinning.pins.isEmpty
    case .reported: pinning.mode == .report
    }
  }

  /// Fields that were added after an empty line would be a body.
  private func endsBeforeClosing(_ head: Span<UInt8>) -> Bool {
    let count = head.count
    guard count >= 4, head[count - 2] == 0x0D, head[count - 1] == 0x0A else { return false }
    return head[count - 4] != 0x0D || head[count - 3] != 0x0A
  }

  private func write(
    _ head: Span<UInt8>, _ cookies: CookieMerge?, _ lines: borrowing Secret, _ kept: CookieLine?,
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
    try stage.append(kept, session: &session)
    try stage.appendLineBreak(session: &session)
    try body.withUnsafeBytes { (bytes) throws(TLSError) in try stage.append(bytes, session: &session) }
    try stage.flush(session: &session)
  }
}
