@_spi(SecretBytes) package import Secrets

// Credentials whose value a token endpoint grants.
extension Keyring {
  package var tokenValues: TokenValues { reader.tokens }

  /// Each once.
  package var tokens: Set<TokenSource> { plan.tokens }

  /// nil: its value comes from elsewhere.
  package func token(ofGrant index: Int) -> TokenSource? {
    slots.indices.contains(index) ? slots[index].entry.scheme.token : nil
  }

  /// Whether it is only not available because its token endpoint has not been asked yet.
  package func isUnasked(grant index: Int) -> Bool {
    token(ofGrant: index).map { !reader.tokens.isKnown($0) } ?? false
  }

  /// Reads its value again. Returns the indices of the grants that use it.
  package func reload(token: TokenSource) -> [Int] {
    slots.reload(plan.users(of: token), reader)
    return plan.users(of: token)
  }

  /// Indices of the grants whose lines have the token.
  package func users(of token: TokenSource) -> [Int] { plan.users(of: token) }

  /// As `tokenSecrets(of:)`, but a first refresh token may be missing where a login can be stored.
  package func keptTokenSecrets(of source: TokenSource) throws(SecretProblem) -> TokenSecrets {
    let secrets = TokenSecrets()
    for (role, secret) in source.sources {
      do throws(SecretProblem) {
        secrets.put(role, try reader.read(secret))
      } catch {
        guard role == .refreshToken, source.store != nil, error.isMissing else { throw error }
      }
    }
    return secrets
  }

  /// Reads what a source names, as it is known now (files that have been read, commands that have ended). Fails at the first
  /// that is not there. The stored login, if there is one, is put over `refreshToken` by `TokenLogin`.
  package func tokenSecrets(of source: TokenSource) throws(SecretProblem) -> TokenSecrets {
    let secrets = TokenSecrets()
    for (role, source) in source.sources { secrets.put(role, try reader.read(source)) }
    return secrets
  }

  /// A fingerprint of what the endpoint would be shown now, by which changes are noticed without showing anything of it; of a
  /// secret that is not there, nothing.
  package func fingerprint(ofSecretsFor source: TokenSource) -> String {
    source.sources.map { role, source in
      guard let secret = try? reader.read(source) else { return "-" }
      return secret.withBytes { FingerprintKey.ofProcess.fingerprint(of: $0) ?? "?" }
    }.joined(separator: " ")
  }
}

extension TokenSource {
  /// The files that hold this source's secrets.
  package var files: Set<SecretSource> { Set(sources.map(\.source).filter(\.isFile)) }

  /// Whether this is among its secrets.
  package func uses(_ command: SecretCommand) -> Bool { sources.contains { $0.source == .command(command) } }
}
