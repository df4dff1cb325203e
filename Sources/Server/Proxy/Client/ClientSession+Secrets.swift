internal import Credentials
internal import Providers
internal import Setup

/// The waits of a request before it goes out, one after the other: a credential may have secrets of several kinds (T44).
enum SecretStage: Int {
  /// Files of the credential that are being read.
  case files
  /// Files of the credential's token endpoint, if they may bring the token that is missing.
  case filesOfToken
  case token
  case command
  case over
}

extension ClientSession {
  /// True when the credential is being read, or not there yet, but may be soon. Nothing is waited for twice, or a file that
  /// changes all the time would keep a request for ever.
  /// - Parameter isAvailable: it can go out as it is.
  func awaitsSecret(_ grant: Int, _ isAvailable: Bool, from stage: SecretStage, fresh: Bool) -> Bool {
    if stage == .files, !isAvailable || generation.keyring.hasFiles(grant: grant) && isReading(grant),
      let wait = worker.providers.secrets?.wait(
        forGrant: grant, onEnd: { [unowned self] in valueCame(fresh, after: .files) })
    {
      upstream.opening = .value(wait)
      return true
    }
    if let tokens = worker.providers.tokens, tokens.has(grant: grant), awaitsToken(grant, tokens, from: stage, fresh) {
      return true
    }
    guard stage.rawValue <= SecretStage.command.rawValue, !isAvailable,
      let wait = worker.providers.commands?.wait(
        forGrant: grant, onEnd: { [unowned self] in valueCame(fresh, after: .command) })
    else { return false }
    upstream.opening = .value(wait)
    return true
  }

  func awaitsToken(_ grant: Int, _ tokens: TokenWaiters, from stage: SecretStage, _ fresh: Bool) -> Bool {
    guard stage.rawValue <= SecretStage.token.rawValue else { return false }
    let hasLooked = stage.rawValue > SecretStage.filesOfToken.rawValue
    let wait = tokens.wait(forGrant: grant, hasLooked: hasLooked) { [unowned self] isAsked in
      valueCame(fresh, after: isAsked ? .token : .filesOfToken)
    }
    guard let wait else { return false }
    upstream.opening = .value(wait)
    return true
  }

  private func isReading(_ grant: Int) -> Bool { worker.providers.secrets?.isReading(forGrant: grant) == true }

  /// The wait of `stage` has ended: the value has come, or will not.
  func valueCame(_ fresh: Bool, after stage: SecretStage) {
    upstream.opening = .nothing
    let opened = openNow(fresh: fresh, from: SecretStage(rawValue: stage.rawValue + 1) ?? .over)
    if let opened { resumeInput(with: opened) }
  }
}
