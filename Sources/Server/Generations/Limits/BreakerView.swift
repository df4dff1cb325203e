package import Credentials
package import Gateway
package import Log
internal import Policy
internal import StatusModel

/// A circuit breaker as seen by one worker's generation.
package final class BreakerView {
  package let shared: OriginBreaker
  /// The secret version of the current value in the keyring.
  private var secretVersion: UInt64 = 0
  /// The secret version of the same value in the shared breaker.
  private var sharedVersion: UInt64 = 0

  init(_ shared: OriginBreaker) { self.shared = shared }

  /// Whether the value with this secret version can be sent.
  package func isClosed(for secretVersion: UInt64) -> Bool {
    secretVersion == self.secretVersion && shared.isClosed(for: sharedVersion)
  }

  /// Passes the credential's current value to the shared breaker. If `isClosed` returns `false`, call this
  /// before you use `shared`.
  package func update(from keyring: Keyring, grant: Int, at now: UInt64, log: EventLog) {
    let secretVersion = keyring.secretVersion(ofGrant: grant)
    if secretVersion == self.secretVersion, shared.isCurrent(sharedVersion) { return }
    let (sharedVersion, change) = shared.update(to: shared.value(in: keyring, ofGrant: grant), at: now)
    (self.secretVersion, self.sharedVersion) = (secretVersion, sharedVersion)
    if let change { report(change, to: log) }
  }

  package func recordVerdict(
    _ verdict: CredentialVerdict?, for permission: CredentialBreaker.Permission, at now: UInt64, log: EventLog
  ) {
    if let change = shared.recordVerdict(verdict, for: permission, at: now) { report(change, to: log) }
  }

  private func report(_ change: CredentialBreaker.Change, to log: EventLog) {
    let secretVersion = String(secretVersion)
    switch change {
    case .suspended(let time):
      log.event(
        .credentialSuspended, ("credential", shared.credential), ("credential_generation", secretVersion),
        ("upstream", shared.origin.description), ("rejections", String(shared.state.rejections)),
        ("seconds", String(time / 1_000)),
        (
          "help",
          "for this time, bearerd does not send the credential to this upstream. After that, one request tests the credential. A changed credential, or bearerctl resume \(shared.credential), ends the suspension at once"
        ))
    case .accepted, .renewed, .resumed:
      log.event(
        .credentialResumed, ("credential", shared.credential), ("credential_generation", secretVersion),
        ("upstream", shared.origin.description), ("reason", Self.reason(change)))
    }
  }

  package static func reason(_ change: CredentialBreaker.Change) -> String {
    switch change {
    case .accepted: "accepted"
    case .renewed: "changed"
    case .resumed: "asked for"
    case .suspended: ""
    }
  }
}
