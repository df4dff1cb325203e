internal import Credentials
internal import Generations
internal import Secrets
internal import Settings

/// The keyring, the secret files and the first worker, as `TokenWaiters` uses them.
protocol TokenWaitersHost: AnyObject {
  /// Sends a demand to the first worker.
  func send(_ demand: TokenDemand)
  /// Waits until the secret files of a token endpoint have been checked. Calls `onEnd` once, never within this call.
  /// Returns `nil` if there is nothing to wait for.
  func waitForFiles(of source: TokenSource, onEnd: @escaping () -> Void) -> SecretWait?
  /// Applies `change` to a token's value in the keyrings.
  func changeValue(of source: TokenSource, _ change: (TokenValues) -> Void)
  /// Returns a token that an upstream has set as a cookie. `nil` if it is the current token or cannot be copied.
  /// - Parameter lifetime: milliseconds. `nil` if unknown.
  func offer(_ value: Span<UInt8>, lifetime: UInt64?, of source: TokenSource) -> TokenOffer?
  /// Returns why the grant's credential has no usable value.
  func problem(ofGrant index: Int) -> String?
  /// Called after each change of a token's status, before any waiting request is sent with the new token.
  func tokenStatusChanged()
}

extension CredentialProviders: TokenWaitersHost {
  func send(_ demand: TokenDemand) {
    if let link {
      link.postToFirstProviders { $0.tokens?.onDemand?(demand) }
    } else {
      tokens?.onDemand?(demand)
    }
  }

  func waitForFiles(of source: TokenSource, onEnd: @escaping () -> Void) -> SecretWait? {
    tokenFileChecks.wait(for: source, onEnd: onEnd)
  }

  func changeValue(of source: TokenSource, _ change: (TokenValues) -> Void) {
    let generation = generation
    let keyring = generation.keyring
    let before = keyring.users(of: source).map { keyring.status(ofGrant: $0) }
    change(keyring.tokenValues)
    prepared?.keyring.reload(token: source)
    for (index, before) in zip(keyring.reload(token: source), before)
    where keyring.status(ofGrant: index) != before {
      log.credential(index, of: generation)
    }
  }

  func offer(_ value: Span<UInt8>, lifetime: UInt64?, of source: TokenSource) -> TokenOffer? {
    if generation.keyring.tokenValues.isCurrent(value, of: source) { return nil }
    return try? TokenOffer(value, lifetime: lifetime, mustLock: generation.settings.requireLockedMemory)
  }

  func problem(ofGrant index: Int) -> String? { generation.keyring.status(ofGrant: index).problem }

  func tokenStatusChanged() { checkAccounts() }
}
