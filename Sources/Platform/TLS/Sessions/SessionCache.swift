internal import COpenSSL
internal import Policy

/// The result of verifying a full handshake, stored with its sessions (T21).
struct SessionVerdict {
  let pins: SessionProof.PinVerdict
  let matchedPin: Pin?
  let remark: String?
  /// SHA-256 of the public key of the upstream's certificate.
  let leafKey: [UInt8]
  /// When the chain was verified, in seconds since boot.
  let verifiedAt: Int64
  let validity: Validity
  let leafValidity: Validity

  /// Maximum age of a verification, in seconds.
  static let maximumAge: Int64 = 3600

  func holds(at now: Moment) -> Bool {
    let age = now.uptime &- verifiedAt
    return age >= 0 && age < Self.maximumAge && validity.contains(now.calendar)
  }
}

final class CachedSession {
  let pointer: OpaquePointer  // SSL_SESSION, owned
  let verdict: SessionVerdict

  init(owning pointer: OpaquePointer, verdict: SessionVerdict) {
    self.pointer = pointer
    self.verdict = verdict
  }

  deinit { SSL_SESSION_free(pointer) }

  /// Whether the session can be used only once, as in TLS 1.3.
  var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION }

  func isUsable(at now: Moment) -> Bool {
    // It must still be valid when the handshake ends.
    guard verdict.holds(at: now), verdict.holds(at: now + 60), SSL_SESSION_is_resumable(pointer) == 1 else {
      return false
    }
    // By the calendar, because OpenSSL sends this age to the server. A clock that was set back costs a full handshake.
    let age = now.calendar &- Int64(SSL_SESSION_get_time(pointer))
    let hint = Int64(clamping: SSL_SESSION_get_ticket_lifetime_hint(pointer))
    // RFC 5077 section 3.3: 0 is no hint. In TLS 1.3 it means "discard", and OpenSSL offers no such ticket (RFC 8446
    // section 4.6.1).
    return age >= 0 && (hint == 0 || age < hint)
  }
}

/// The sessions of one `ClientContext`, newest last.
final class SessionCache {
  static let capacity = 8

  private var sessions: [CachedSession] = []
  private(set) var epoch: UInt64 = 0

  var count: Int { sessions.count }

  func insert(_ session: CachedSession, epoch: UInt64) {
    guard epoch == self.epoch, !sessions.contains(where: { $0.pointer == session.pointer }) else { return }
    if sessions.count >= Self.capacity { sessions.removeFirst() }
    sessions.append(session)
  }

  /// Returns the newest usable session; `nil` if there is none.
  func offer(now: Moment) -> CachedSession? {
    // A session that can be used only once leaves the cache.
    while let session = sessions.last {
      let isUsable = session.isUsable(at: now)
      if !isUsable || session.isSingleUse { sessions.removeLast() }
      if isUsable { return session }
    }
    return nil
  }

  func remove(_ session: CachedSession) { sessions.removeAll { $0 === session } }

  func removeAll() {
    sessions = []
    epoch &+= 1
  }
}
