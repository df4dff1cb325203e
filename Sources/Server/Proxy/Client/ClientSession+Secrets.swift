internal import Credentials
internal import Providers
internal import Generations

/// The sources of a credential's secrets, in the order in which a request waits for them (T44).
enum SecretStage: Int {
  /// Files of the credential that are being read.
  case files
  /// Files with secrets that a token request uses.
  case filesOfToken
  case token
  case command
  case done
}

extension ClientSession {
  /// Waits for a value of the credential that is being read or fetched. Returns `false` if there is nothing to wait
  /// for.
  /// - Parameters:
  ///   - isAvailable: whether the credential has a value that can be sent.
  ///   - fresh: whether the request must not use an idle connection.
  func awaitsSecret(_ grant: Int, _ isAvailable: Bool, from stage: SecretStage, fresh: Bool) -> Bool {
    // Each stage waits only once: a file that changes all the time could otherwise block the request forever.
    if stage == .files, !isAvailable || generation.keyring.hasFiles(grant: grant) && isReading(grant),
      let wait = worker.providers.secrets?.wait(
        forGrant: grant, onEnd: { [unowned self] in valueArrived(fresh, after: .files) })
    {
      upstream.opening = .value(wait)
      return true
    }
    if let tokens = worker.providers.tokens, tokens.has(grant: grant), awaitsToken(grant, tokens, from: stage, fresh) {
      return true
    }
    guard stage.rawValue <= SecretStage.command.rawValue, !isAvailable,
      let wait = worker.providers.commands?.wait(
        forGrant: grant, onEnd: { [unowned self] in valueArrived(fresh, after: .command) })
    else { return false }
    upstream.opening = .value(wait)
    return true
  }

  func awaitsToken(_ grant: Int, _ tokens: TokenWaiters, from stage: SecretStage, _ fresh: Bool) -> Bool {
    guard stage.rawValue <= SecretStage.token.rawValue else { return false }
    let hasCheckedFiles = stage.rawValue > SecretStage.filesOfToken.rawValue
    let wait = tokens.wait(forGrant: grant, hasCheckedFiles: hasCheckedFiles) { [unowned self] isAsked in
      valueArrived(fresh, after: isAsked ? .token : .filesOfToken)
    }
    guard let wait else { return false }
    upstream.opening = .value(wait)
    return true
  }

  private func isReading(_ grant: Int) -> Bool { worker.providers.secrets?.isReading(forGrant: grant) == true }

  /// Continues with the source after `stage`.
  /// - Parameter fresh: whether the request must not use an idle connection.
  func valueArrived(_ fresh: Bool, after stage: SecretStage) {
    upstream.opening = .nothing
    let opened = openNow(fresh: fresh, from: SecretStage(rawValue: stage.rawValue + 1) ?? .done)
    if let opened { resumeInput(with: opened) }
  }
}
