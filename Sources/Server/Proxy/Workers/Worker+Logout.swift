internal import Credentials
internal import Gateway
internal import Policy
internal import Providers
internal import Setup
internal import TLS
internal import Transport

/// The work of one worker when a credential is logged out (T46). Its value is gone first; so whatever is decided anew in
/// here goes nowhere.
extension Worker {
  /// Ends whatever uses a credential that was wiped, alone or together with others, and nothing of any other.
  package func cutUses(of credential: String) -> LogoutCut {
    var cut = LogoutCut()
    for session in Array(sessions.values) { session.loggedOut(credential, &cut) }
    providers.registries.forget(credential)
    for pool in providers.pools(of: credential) { cut.add(pool.forget()) }
    return cut
  }

  /// Wipes a credential, also where requests of earlier configurations hold it.
  package func wipe(_ credential: String) {
    var generations = [generation]
    for session in sessions.values where !generations.contains(where: { $0 === session.generation }) {
      generations.append(session.generation)
    }
    providers.secrets?.logOut(credential)
    providers.loggedOutMeanwhile.insert(credential)
    providers.prepared?.keyring.logOut(credential)
    for generation in generations {
      generation.keyring.logOut(credential, isCurrent: generation === self.generation)
    }
  }
}

extension UpstreamPool {
  /// Nothing stays of what was proved and kept so far. Later requests begin anew.
  fileprivate func forget() -> LogoutCut {
    var cut = LogoutCut()
    (cut.idle, cut.resumable) = (idle.count, context?.statistics.kept ?? 0)
    setApart()
    return cut
  }
}

extension ClientSession {
  /// Ends the request under way if it has a credential that was logged out.
  func loggedOut(_ credential: String, _ cut: inout LogoutCut) {
    // The phase comes first: between requests a connection has no credential.
    switch summary.phase {
    case .awaitingUpstream, .exchanging, .upgraded: break
    case .awaitingHead, .lingering, .closed: return
    }
    guard let grant, state == .open || state == .orphaned,
      generation.snapshot.rules.grants[grant].includes(credential)
    else { return }
    switch summary.phase {
    case .awaitingUpstream: cut.waiting += 1
    case .exchanging: if summary.hasResponseHead { cut.answers += 1 } else { cut.underWay += 1 }
    case .upgraded: cut.upgraded += 1
    case .awaitingHead, .lingering, .closed: break
    }
    attempt.returnBreaker()
    attempt.failureDetail = "the credential was logged out"
    step { machine, output in machine.loggedOut(output: &output) }
    settle()
  }
}
