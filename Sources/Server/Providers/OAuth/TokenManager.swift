package import Configuration
internal import Credentials
internal import EventLoop
internal import Secrets
package import Settings
package import Generations
internal import System
internal import Transport

/// Requests and renews the tokens of all workers (T39). Runs on the first worker.
package final class TokenManager {
  private unowned let providers: CredentialProviders
  private let blocking: BlockingTasks
  private var refreshers: [TokenSource: TokenRefresher] = [:]
  private var users: [SecretSource: [TokenSource]] = [:]
  /// Refreshers whose logout is in progress.
  private var loggingOut: [TokenRefresher] = []
  /// Refreshers of earlier configurations that still wait for their last response, or are storing it.
  private var retiring: [TokenRefresher] = []
  /// Logins in memory of ended refreshers, by credential, until `update` has made their successors.
  private var endedLogins: [String: TokenLogin] = [:]
  private let timer: BootTimer
  private var alarm: ReadableSource?
  private var onStopped: (() -> Void)?

  package init(providers: CredentialProviders) throws(StartError) {
    self.providers = providers
    blocking = BlockingTasks(loop: providers.loop)
    do {
      timer = try BootTimer()
      alarm = try ReadableSource(loop: providers.loop, descriptor: timer.descriptor) { [unowned self] in
        checkDeadlines()
      }
    } catch {
      throw .system("\(error)")
    }
    providers.tokens?.onDemand = { [unowned self] in handle($0) }
    providers.onSecretRead = { [unowned self] source, loggedOut in
      guard let users = users[source] else { return }
      for case let refresher? in users.map({ refreshers[$0] }) {
        refresher.secretsChanged(predateLogout: loggedOut.contains(refresher.source.credential))
      }
      reschedule()
    }
  }

  /// Manages the tokens of this generation, and no others. Existing tokens keep their schedule.
  package func update(to generation: Generation) {
    let wanted = generation.keyring.tokens
    users = wanted.reduce(into: [:]) {
      for file in $1.files.union($1.basis?.files ?? []) { $0[file, default: []].append($1) }
    }
    for (source, refresher) in refreshers where !wanted.contains(source) {
      refreshers[source] = nil
      publish(source, TokenStatus(), hasNewValue: true) { $0.forget(source) }
      retire(refresher, "its configuration has changed in the meantime")
    }
    for source in wanted {
      if let refresher = refreshers[source] {
        refresher.reloaded(brings: !providers.loggedOutSinceReload.contains(source.credential))
        publish(source, refresher.status, hasNewValue: false)
      } else {
        let refresher = TokenRefresher(source, providers: providers, blocking: blocking) {
          [unowned self] refresher, change in
          publish(source, refresher.status, hasNewValue: change != nil, change ?? { _ in })
          changeDependents(of: refresher)
          reschedule()
        }
        refreshers[source] = refresher
        if let login = endedLogins[source.credential] { refresher.login.inherit(login) }
        for earlier in retiring where earlier.sharesLogin(with: source) { refresher.succession.wait(for: earlier) }
        refresher.requestToken()
      }
    }
    endedLogins = [:]
    reschedule()
  }

  package func logIn(_ name: String, _ exchange: ControlExchange) {
    guard let refresher = refreshers.values.first(where: { $0.source.credential == name && $0.source.form == nil })
    else {
      return exchange.end(
        .failure(.system("\(name) has no login: its secret comes neither from oauth2 nor from a login with oauth1")))
    }
    guard refresher.source.isByLogin else {
      let grant = "grant \(refresher.source.grantName)"
      return exchange.end(
        .failure(.system("\(name) needs no login: with \(grant), bearerd gets its tokens by itself")))
    }
    refresher.logIn(exchange)
    reschedule()
  }

  /// Requests tokens for these credentials, if the last request failed or an upstream rejected the token.
  /// - Returns: Whether a token is being requested.
  package func resume(_ credentials: [String]) -> Bool {
    var isRequested = false
    for refresher in refreshers.values where credentials.contains(refresher.source.credential) {
      isRequested = refresher.resume() || isRequested
    }
    reschedule()
    return isRequested
  }

  /// Requests new tokens for the sources that use this command. Call this when its output has changed or it has failed.
  package func changed(_ command: SecretCommand) {
    for refresher in refreshers.values
    where refresher.source.uses(command) || refresher.source.basis?.uses(command) == true {
      refresher.secretsChanged()
    }
    reschedule()
  }

  /// Logs a token out. No request uses the token after this call.
  /// - Parameters:
  ///   - onRecorded: called once, perhaps within this call, when the logout is on disk, or has failed to be written.
  ///   - onEnd: called once, when the token has been wiped and revoked, as far as possible.
  /// - Returns: `false` if the token is unknown, or if its logout is in progress.
  package func logOut(
    _ source: TokenSource, onRecorded: @escaping () -> Void, onEnd: @escaping (TokenLogout.Outcome) -> Void
  ) -> Bool {
    guard let refresher = refreshers[source], !refresher.isLoggingOut else { return false }
    loggingOut.append(refresher)
    refresher.logOut(onRecorded: onRecorded) { [weak self] outcome in
      self?.loggingOut.removeAll { $0 === refresher }
      onEnd(outcome)
    }
    reschedule()
    return true
  }

  /// Stops requesting tokens. Calls `onEnd` once, perhaps within this call, when all responses have arrived and are
  /// stored.
  package func stop(onEnd: @escaping () -> Void) {
    for refresher in loggingOut { refresher.stop() }
    let ending = Array(refreshers.values)
    (refreshers, loggingOut) = ([:], [])
    providers.onSecretRead = nil
    alarm.take()?.close()
    providers.tokens?.close()
    onStopped = onEnd
    for refresher in ending { retire(refresher, "bearerd is stopping") }
    reportStopped()
  }

  package func close() {
    onStopped = nil
    for refresher in Array(refreshers.values) + loggingOut + retiring { refresher.stop() }
    (refreshers, loggingOut, retiring, endedLogins) = ([:], [], [], [:])
    providers.onSecretRead = nil
    alarm.take()?.close()
    providers.tokens?.close()
    blocking.close()
  }

  private func retire(_ refresher: TokenRefresher, _ why: String) {
    retiring.append(refresher)
    refresher.retire(why) { [weak self, unowned refresher] in
      guard let self else { return }
      retiring.removeAll { $0 === refresher }
      if refresher.source.keepsLoginInMemory { handOver(refresher.login) }
      for successor in refreshers.values {
        for work in successor.succession.ended(refresher) { work() }
      }
      reportStopped()
    }
  }

  /// Gives a login in memory to the credential's later refreshers, or to the next one that `update` makes.
  private func handOver(_ login: TokenLogin) {
    let credential = login.source.credential
    let successors = (Array(refreshers.values) + retiring).filter { $0.source.credential == credential }
    for successor in successors { successor.login.inherit(login) }
    if successors.isEmpty { endedLogins[credential] = login }
  }

  private func reportStopped() {
    if retiring.isEmpty { onStopped.take()?() }
  }

  /// Tries the logins again that use a token of this refresher, after its account or secrets have changed.
  private func changeDependents(of refresher: TokenRefresher) {
    let holder = refresher.status.holder
    guard refresher.lastHolder != holder else { return }
    refresher.lastHolder = holder
    let dependents = refreshers.values.filter { $0.source.basis == refresher.source }
    if dependents.isEmpty { return }
    // Not within a change of the token that the dependents read.
    providers.loop.onNextTurn { for dependent in dependents { dependent.basisChanged() } }
  }

  private func handle(_ demand: TokenDemand) {
    guard let refresher = refreshers[demand.source] else { return }
    switch demand.kind {
    case .token: refresher.requestToken()
    case .use: refresher.isTokenUsed = true
    case .replacement(let version): refresher.rejected(version)
    case .offer(let version, let offer): refresher.receive(offer, after: version)
    }
    reschedule()
  }

  private func checkDeadlines() {
    let now = BootTimer.now
    for refresher in refreshers.values { refresher.checkDeadlines(at: now) }
    reschedule()
  }

  /// Sends the status, and the value if it is new, to all workers.
  private func publish(
    _ source: TokenSource, _ status: TokenStatus, hasNewValue: Bool, _ change: (TokenValues) -> Void = { _ in }
  ) {
    if hasNewValue {
      providers.tokens?.change(source, status, change)
    } else {
      providers.tokens?.updateStatus(of: source, to: status)
    }
    guard providers.context.workers > 1 else { return }
    let output = hasNewValue ? providers.generation.keyring.tokenValues.state(of: source) : nil
    providers.postToOthers { $0.tokens?.adopt(output, source, status) }
  }

  private func reschedule() { timer.set(at: refreshers.values.compactMap(\.nextDeadline).min()) }
}
