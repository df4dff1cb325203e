internal import COpenSSL

/// The proof of a full handshake, kept with the sessions that come of it: OpenSSL repeats none of it on resumption (T21).
struct SessionVerdict {
  let pins: SessionProof.PinVerdict
  let remark: String?
  /// SHA-256 of the leaf's SPKI.
  let leafKey: [UInt8]
  /// When the chain was verified, in seconds since the machine started.
  let verifiedAt: Int64
  let validity: Validity

  /// How long a session may stand for a chain. Tickets that a resumed connection brings are no younger than the handshake
  /// that was verified.
  static let maximumAge: Int64 = 3600

  func holds(at now: Moment) -> Bool {
    let age = now.uptime &- verifiedAt
    return age >= 0 && age < Self.maximumAge && validity.contains(now.calendar)
  }
}

/// A resumable session with its verdict; there is none without.
final class KeptSession {
  let pointer: OpaquePointer  // SSL_SESSION, owned
  let verdict: SessionVerdict

  init(owning pointer: OpaquePointer, verdict: SessionVerdict) {
    self.pointer = pointer
    self.verdict = verdict
  }

  deinit { SSL_SESSION_free(pointer) }

  /// TLS 1.3 tickets serve once, TLS 1.2 sessions often.
  var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION }

  func isUsable(at now: Moment) -> Bool {
    // Still when the handshake is over
    guard verdict.holds(at: now), verdict.holds(at: now + 60), SSL_SESSION_is_resumable(pointer) == 1 else {
      return false
    }
    // By the calendar, because OpenSSL tells the server so; one that was set back costs a full handshake
    let age = now.calendar &- Int64(SSL_SESSION_get_time(pointer))
    let hint = Int64(clamping: SSL_SESSION_get_ticket_lifetime_hint(pointer))
    // RFC 5077 section 3.3: a hint of 0 is no hint. (RFC 8446 section 4.6.1: discard; OpenSSL does not offer such a one.)
    return age >= 0 && (hint == 0 || age < hint)
  }
}

/// Sessions of one `ClientContext`, newest last. In memory only, never shared: another identity has another cache.
final class SessionCache {
  /// Two tickets come with each full handshake; more than a burst of connections needs is waste.
  static let capacity = 8

  private var kept: [KeptSession] = []
  private(set) var epoch: UInt64 = 0

  var count: Int { kept.count }

  func keep(_ session: KeptSession, epoch: UInt64) {
    guard epoch == self.epoch, !kept.contains(where: { $0.pointer == session.pointer }) else { return }
    if kept.count >= Self.capacity { kept.removeFirst() }
    kept.append(session)
  }

  /// The newest usable one.
  func offer(now: Moment) -> KeptSession? {
    while let session = kept.last {
      guard session.isUsable(at: now) else {
        kept.removeLast()
        continue
      }
      if session.isSingleUse { kept.removeLast() }
      return session
    }
    return nil
  }

  /// The server did not want it.
  func drop(_ session: KeptSession) {
    kept.removeAll { $0 === session }
  }

  func forget() {
    kept = []
    epoch &+= 1
  }
}
