internal import Credentials
internal import Generations
internal import Settings

/// Detects when a credential with `on_change: cut` has the value of another account.
struct AccountWatch {
  /// What a renewal does not change.
  private enum Account: Equatable {
    /// `holder` is the number of the login, or of the secrets that obtained the token (`TokenStatus.holder`).
    case token(TokenSource, holder: UInt64)
    case value(fingerprint: String, certificate: [UInt8]?)
  }

  /// The account of the last value of each credential, by name. A missing value changes nothing, because bearerd cannot
  /// know yet whether the next value is another one.
  private var known: [String: Account] = [:]

  /// Returns the names of credentials whose account has changed since the last call.
  mutating func changes(in generation: Generation, _ tokens: TokenWaiters?) -> [String] {
    generation.credentialsToCut.compactMap { index in
      guard let account = Self.account(ofGrant: index, generation, tokens) else { return nil }
      let name = generation.settings.credentials[index].name
      let former = known.updateValue(account, forKey: name)
      return former == nil || former == account ? nil : name
    }
  }

  /// Forgets credentials that the configuration no longer has, or that no longer have `on_change: cut`.
  mutating func prune(to generation: Generation) {
    guard !known.isEmpty else { return }
    let names = Set(generation.credentialsToCut.map { generation.settings.credentials[$0].name })
    known = known.filter { names.contains($0.key) }
  }

  private static func account(ofGrant index: Int, _ generation: Generation, _ tokens: TokenWaiters?) -> Account? {
    if let source = generation.keyring.token(ofGrant: index) {
      guard let holder = tokens?.status(ofGrant: index)?.holder, holder > 0 else { return nil }
      return .token(source, holder: holder)
    }
    return generation.keyring.fingerprint(ofGrant: index).map {
      .value(fingerprint: $0, certificate: generation.certificateFingerprint(ofGrant: index))
    }
  }
}
