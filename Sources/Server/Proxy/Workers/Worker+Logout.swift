internal import Credentials
internal import Gateway
internal import Log
internal import Policy
internal import Providers
internal import Generations
package import StatusModel
internal import TLS
internal import Transport

/// The logout of a credential in one worker (T46).
extension Worker {
  /// Ends all requests and upstream connections that use a wiped credential.
  package func cutUses(of credential: String) -> LogoutResult.Cut {
    var cut = LogoutResult.Cut()
    for run in connections.runs { run.loggedOut(credential, &cut) }
    providers.registries.forget(credential)
    for pool in providers.pools(of: credential) { cut.add(pool.forget()) }
    return cut
  }

  /// Ends what the former value of a credential opened (`on_change: cut`).
  func cutFormerUses(of credential: String) {
    var cut = LogoutResult.Cut()
    for run in connections.runs { run.credentialReplaced(credential, &cut) }
    providers.registries.forget(credential)
    for pool in providers.pools(of: credential) { cut.add(pool.forget()) }
    let requests = cut.underWay + cut.answers + cut.upgraded
    guard requests + cut.idle > 0 else { return }
    log.event(
      .credentialCut, ("credential", credential), ("requests", String(requests)), ("connections", String(cut.idle)))
  }

  /// Wipes a credential in all generations that are in use.
  package func wipe(_ credential: String) {
    var generations = [generation]
    for run in connections.runs where !generations.contains(where: { $0 === run.generation }) {
      generations.append(run.generation)
    }
    providers.secrets?.logOut(credential)
    providers.loggedOutSinceReload.insert(credential)
    providers.prepared?.keyring.logOut(credential)
    for generation in generations {
      generation.keyring.logOut(credential, isCurrent: generation === self.generation)
    }
  }
}

extension UpstreamPool {
  /// Closes the idle connections, and discards the data for TLS resumption.
  fileprivate func forget() -> LogoutResult.Cut {
    var cut = LogoutResult.Cut()
    (cut.idle, cut.resumable) = (idleCount, resumableSessions)
    invalidate()
    return cut
  }
}

extension RequestRun {
  /// Ends the current request if it uses the credential that was logged out, and counts it in `cut`.
  func loggedOut(_ credential: String, _ cut: inout LogoutResult.Cut) {
    guard uses(credential) else { return }
    count(&cut)
    attempt.returnBreaker()
    attempt.failureDetail = "the credential was logged out"
    step { machine, output in machine.loggedOut(output: &output) }
    client.settle()
  }

  /// Ends the current request if it was sent with the former value of the credential, and counts it in `cut`.
  fileprivate func credentialReplaced(_ credential: String, _ cut: inout LogoutResult.Cut) {
    // A request that waits is sent with the new value.
    guard uses(credential), phase.hasUpstream, !isAwaitingRenewal else { return }
    count(&cut)
    attempt.returnBreaker()
    attempt.failureDetail = "the credential changed"
    step { machine, output in machine.credentialReplaced(output: &output) }
    client.settle()
  }

  /// Whether the current request uses the credential.
  private func uses(_ credential: String) -> Bool {
    guard phase.isRunning || phase == .upgraded, let grant else { return false }
    return generation.snapshot.rules.grants[grant].includes(credential)
  }

  private func count(_ cut: inout LogoutResult.Cut) {
    switch phase {
    case .awaitingUpstream, .awaitingRetry: cut.waiting += 1
    case .exchanging: if hasResponseHead { cut.answers += 1 } else { cut.underWay += 1 }
    case .upgraded: cut.upgraded += 1
    case .awaitingHead, .ended: break
    }
  }
}
