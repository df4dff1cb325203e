package import Credentials
package import Gateway
package import Log
internal import Policy

/// A breaker as one generation of one worker sees it, whose keyring numbers the values that it reads by itself.
package final class BreakerView {
  package let shared: OriginBreaker
  /// The keyring's number of the value, and what the breaker calls the same value.
  private var generation: UInt64 = 0
  private var number: UInt64 = 0

  init(_ shared: OriginBreaker) { self.shared = shared }

  /// Nothing holds this generation of the credential back, and nothing has to be known anew: what is nearly always so.
  package func isClosed(for generation: UInt64) -> Bool {
    generation == self.generation && shared.isClosed(for: number)
  }

  /// The credential has this generation now. To be told before the rest is asked.
  package func follow(_ keyring: Keyring, _ grant: Int, at now: UInt64, log: EventLog) {
    let generation = keyring.generation(ofGrant: grant)
    if generation == self.generation, shared.knows(number) { return }
    let (number, change) = shared.follow(shared.value(in: keyring, ofGrant: grant), at: now)
    (self.generation, self.number) = (generation, number)
    if let change { tell(change, to: log) }
  }

  package func answered(
    _ verdict: CredentialVerdict?, to permission: CredentialBreaker.Permission, at now: UInt64, log: EventLog
  ) {
    if let change = shared.answered(verdict, to: permission, at: now) { tell(change, to: log) }
  }

  private func tell(_ change: CredentialBreaker.Change, to log: EventLog) {
    let generation = String(generation)
    switch change {
    case .suspended(let time):
      log.event(
        .credentialSuspended, ("credential", shared.credential), ("credential_generation", generation),
        ("upstream", shared.origin.description), ("rejections", String(shared.state.rejections)),
        ("seconds", String(time / 1_000)),
        (
          "help",
          "for this time, bearerd does not send the credential to this upstream. After that, one request tests the credential. A changed credential, or bearerctl resume \(shared.credential), ends the suspension at once"
        ))
    case .accepted, .renewed, .resumed:
      log.event(
        .credentialResumed, ("credential", shared.credential), ("credential_generation", generation),
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
