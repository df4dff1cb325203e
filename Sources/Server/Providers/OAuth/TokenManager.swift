package import Configuration
internal import Credentials
internal import EventLoop
package import Secrets
package import Setup
internal import System
internal import Transport

/// Keeps the tokens of all workers fresh, in one place (T39): each endpoint is asked by one keeper.
///
/// A token is asked for as soon as a configuration names it, so that the first request need not wait; afterwards ahead of its
/// end if it was used, and else when a request wants one.
package final class TokenManager {
  private unowned let providers: CredentialProviders
  private let blocking: BlockingTasks
  private var keepers: [TokenSource: TokenRefresher] = [:]
  /// Which of them have secrets in a file.
  private var users: [SecretSource: [TokenSource]] = [:]
  /// Refreshers that are logged out, until all of that is done: a reload may take them out of the others meanwhile.
  private var leaving: [TokenRefresher] = []
  /// Refreshers of earlier configurations whose last request has not been answered, or its answer not been stored yet.
  private var retiring: [TokenRefresher] = []
  private let timer: BootTimer
  private var alarm: ReadableSource?
  /// Called when nothing is asked or written any more.
  private var onStopped: (() -> Void)?

  package init(providers: CredentialProviders) throws(StartError) {
    self.providers = providers
    blocking = BlockingTasks(loop: providers.loop)
    do {
      timer = try BootTimer()
      alarm = try ReadableSource(loop: providers.loop, descriptor: timer.descriptor) { [unowned self] in look() }
    } catch {
      throw .system("\(error)")
    }
    providers.tokens?.onWish = { [unowned self] in take($0) }
    providers.onSecretRead = { [unowned self] source, loggedOut in
      guard let users = users[source] else { return }
      for case let keeper? in users.map({ keepers[$0] }) {
        keeper.secretsChanged(areOfBefore: loggedOut.contains(keeper.source.credential))
      }
      settle()
    }
  }

  /// This generation's tokens, and no others. One that was there before is kept, with its times.
  package func follow(_ generation: Generation) {
    let wanted = generation.keyring.tokens
    users = wanted.reduce(into: [:]) { for file in $1.files { $0[file, default: []].append($1) } }
    for (source, keeper) in keepers where !wanted.contains(source) {
      keepers[source] = nil
      publish(source, TokenStatus(), hasNewValue: true) { $0.forget(source) }
      retire(keeper, "its configuration has changed in the meantime")
    }
    for source in wanted {
      if let keeper = keepers[source] {
        keeper.reloaded(brings: !providers.loggedOutMeanwhile.contains(source.credential))
        publish(source, keeper.standing, hasNewValue: false)
      } else {
        let keeper = TokenRefresher(source, providers: providers, blocking: blocking) { [unowned self] keeper, change in
          publish(source, keeper.standing, hasNewValue: change != nil, change ?? { _ in })
          settle()
        }
        keepers[source] = keeper
        for earlier in retiring where earlier.hasLogin(of: source) { keeper.succession.await(earlier) }
        keeper.want()
      }
    }
    settle()
  }

  /// A person wants to log in.
  package func logIn(_ name: String, _ exchange: ControlExchange) {
    let token = providers.generation.settings.credentials.first { $0.name == name }?.token
    guard let token, let keeper = keepers.values.first(where: { $0.source.credential == name }) else {
      return exchange.end(
        .failure(.system("\(name) has no login: its secret does not come from oauth2")))
    }
    guard keeper.source.isByLogin else {
      let grant = "grant \(token.grant.rawValue)"
      return exchange.end(
        .failure(.system("\(name) needs no login: with \(grant), bearerd gets its tokens by itself")))
    }
    keeper.logIn(token, exchange)
    settle()
  }

  /// A person wants tokens that could not be had, or that were rejected, to be asked for at once.
  /// - Returns: whether one is.
  package func resume(_ credentials: [String]) -> Bool {
    var isAsked = false
    for keeper in keepers.values where credentials.contains(keeper.source.credential) {
      isAsked = keeper.resume() || isAsked
    }
    settle()
    return isAsked
  }

  /// A command has given a value, or failed.
  package func changed(_ command: SecretCommand) {
    for keeper in keepers.values where keeper.source.uses(command) { keeper.secretsChanged() }
    settle()
  }

  /// Logs a token out. Nothing goes out with the token any more when this returns.
  /// - Parameters:
  ///   - onRecorded: Called once, perhaps within this call, when a restart would not bring the login back, or when recording that
  ///     takes too long or fails.
  ///   - onEnd: Called once, when the token has been wiped and given back, as far as that could be done.
  /// - Returns: `false` if the token is not kept here, or is being logged out already.
  package func logOut(
    _ source: TokenSource, onRecorded: @escaping () -> Void, onEnd: @escaping (TokenLogout.Outcome) -> Void
  ) -> Bool {
    guard let keeper = keepers[source], !keeper.isLoggingOut else { return false }
    leaving.append(keeper)
    keeper.logOut(onRecorded: onRecorded) { [weak self] outcome in
      self?.leaving.removeAll { $0 === keeper }
      onEnd(outcome)
    }
    settle()
    return true
  }

  /// Nothing more is asked. `onEnd` is called once, perhaps from within this call, when what the endpoints may have read is
  /// answered and stored.
  package func stop(onEnd: @escaping () -> Void) {
    for keeper in leaving { keeper.stop() }
    let ending = Array(keepers.values)
    (keepers, leaving) = ([:], [])
    providers.onSecretRead = nil
    alarm?.close()
    alarm = nil
    providers.tokens?.close()
    onStopped = onEnd
    for keeper in ending { retire(keeper, "bearerd is stopping") }
    reportStopped()
  }

  /// The loop ends.
  package func close() {
    onStopped = nil
    for keeper in Array(keepers.values) + leaving + retiring { keeper.stop() }
    (keepers, leaving, retiring) = ([:], [], [])
    providers.onSecretRead = nil
    alarm?.close()
    alarm = nil
    providers.tokens?.close()
    blocking.close()
  }

  private func retire(_ keeper: TokenRefresher, _ why: String) {
    retiring.append(keeper)
    keeper.retire(why) { [weak self, unowned keeper] in
      guard let self else { return }
      retiring.removeAll { $0 === keeper }
      for successor in keepers.values {
        for work in successor.succession.ended(keeper) { work() }
      }
      reportStopped()
    }
  }

  private func reportStopped() {
    guard retiring.isEmpty, let onStopped else { return }
    self.onStopped = nil
    onStopped()
  }

  private func take(_ wish: TokenDemand) {
    guard let keeper = keepers[wish.source] else { return }
    switch wish.kind {
    case .token: keeper.want()
    case .use: keeper.isTokenUsed = true
    case .another(let generation): keeper.rejected(generation)
    case .fresher(let generation, let offer): keeper.take(offer, after: generation)
    }
    settle()
  }

  private func look() {
    let now = BootTimer.now
    for keeper in keepers.values { keeper.look(at: now) }
    settle()
  }

  /// To all workers.
  private func publish(
    _ source: TokenSource, _ standing: TokenStatus, hasNewValue: Bool, _ change: (TokenValues) -> Void = { _ in }
  ) {
    if hasNewValue {
      providers.tokens?.change(source, standing, change)
    } else {
      providers.tokens?.stands(source, standing)
    }
    guard providers.context.workers > 1 else { return }
    let output = hasNewValue ? providers.generation.keyring.tokenValues.output(of: source) : nil
    providers.tellOthers { $0.tokens?.adopt(output, source, standing) }
  }

  private func settle() { timer.set(at: keepers.values.compactMap(\.nextLook).min()) }
}
