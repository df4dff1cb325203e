internal import Credentials
internal import OAuth
internal import Lifecycle
internal import Secrets
internal import System

/// The end of a token's use (T46).
extension TokenRefresher {
  var isLoggingOut: Bool { logout != nil }

  /// Nothing goes out with the token any more when this returns. `onRecorded` is called once, perhaps within this call, when a restart
  /// would not bring the login back; `onEnd` once, when the rest has been done.
  func logOut(onRecorded: @escaping () -> Void, onEnd: @escaping (TokenLogout.Outcome) -> Void) {
    let logout = TokenLogout(source, login: login, providers: providers, onRecorded: onRecorded) {
      [weak self] outcome in
      self?.logout = nil
      onEnd(outcome)
      self?.secretsChanged()
    }
    self.logout = logout
    logout.add(access: grantedToken.take())
    if asking?.isOut == false { stopAsking() }
    if asking != nil { logout.awaitAnswer() }
    let purpose = loginAttempt?.question.purpose
    if let question = loginAttempt?.surrender("it was logged out in the meantime"), let purpose {
      logout.awaitAnswer(to: question, purpose)
    }
    (loginAttempt, waitingLogin) = (nil, nil)
    shown.last = fingerprint
    shown.atLogout = shown.last
    standing.loggedOut = Clock.now.seconds
    let actions = renewal.logout()
    update()
    let held = Withdrawn(nil)
    onChange(self) { [source] values in held.token = values.withdraw(source) }
    logout.add(access: held.token.take())
    carryOut(actions)
    whenFirst { logout.start() }
  }

  /// Than those that the endpoint was shown last, and they are a reason to ask it again.
  var hasOtherSecrets: Bool {
    guard logout == nil, let last = shown.last else { return false }
    let fingerprint = fingerprint
    return last != fingerprint && !isOutStill(fingerprint)
  }

  /// Whether the token stays logged out, since these secrets are no reason to begin again: they are the same, or one is not
  /// there now, or a program gives them, which may give others each time.
  func isOutStill(_ fingerprint: String) -> Bool {
    let isOfProgram = source.sources.contains { $0.source.command != nil }
    return standing.loggedOut != nil
      && (fingerprint == shown.atLogout || fingerprint.contains("-") || isOfProgram)
  }

  /// Discards the answer to a request from before a logout, or a login: its tokens are not used.
  ///
  /// They are given back if that is what people want. Not after a login: some servers have one grant for a person and a client,
  /// and the new tokens would end with the old ones.
  func discard(_ grant: consuming TokenGrant) {
    var access: Secret?
    var refresh: Secret?
    grant.take(access: &access, refresh: &refresh)
    guard let logout else { return }
    logout.add(access: access.take(), refresh: refresh.take())
    logout.answered()
  }

  /// A new configuration is in use: what has failed is tried at once. What no person has logged in to needs none to come back; a
  /// login's end stays.
  /// - Parameter brings: a reload came after the logout, and is to bring the token back.
  func reloaded(brings: Bool) {
    if brings, source.store == nil, standing.loggedOut != nil, logout == nil {
      renewal.changed(brings: true)
      tell()
      want()
    } else {
      _ = resume()
    }
    secretsChanged()
  }

  /// Tries at once what has failed, or was rejected.
  /// - Returns: whether there was such a thing.
  func resume() -> Bool {
    guard standing.loggedOut == nil, logout == nil, renewal.failures > 0 || renewal.isRejected else { return false }
    renewal.changed()
    tell()
    want()
    return renewal.isRenewing
  }
}

/// A token on its way to the code that gives it back.
final class Withdrawn {
  var token: Secret?

  init(_ token: consuming Secret?) { self.token = token }
}
