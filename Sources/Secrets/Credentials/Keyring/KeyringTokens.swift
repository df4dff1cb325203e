@_spi(SecretBytes) package import Secrets
package import Settings

// Credentials whose value is a token from a token endpoint.
extension Keyring {
  package var tokenValues: TokenValues { reader.tokens }

  package var tokens: Set<TokenSource> { plan.tokens }

  package func token(ofGrant index: Int) -> TokenSource? {
    slot(index)?.entry.scheme.token
  }

  /// Whether the credential is unavailable because its first token request has not ended yet.
  package func isTokenPending(grant index: Int) -> Bool {
    token(ofGrant: index).map { !reader.tokens.isKnown($0) } ?? false
  }

  /// Renders the credentials that use the token again. Returns the indices of their grants.
  package func reload(token: TokenSource) -> [Int] {
    slots.reload(plan.users(of: token), reader)
    return plan.users(of: token)
  }

  package func users(of token: TokenSource) -> [Int] { plan.users(of: token) }

  /// Reads the secrets of a token request from the current values of their sources. Throws at the first missing secret.
  /// - Parameter isForLogin: accept a missing first refresh token if `source` stores logins.
  package func tokenSecrets(of source: TokenSource, isForLogin: Bool = false) throws(SecretProblem) -> TokenSecrets {
    let secrets = TokenSecrets()
    for (role, secret) in source.sources {
      do throws(SecretProblem) {
        secrets.put(role, try reader.read(secret))
      } catch {
        guard isForLogin, role == .refreshToken, source.keepsLogin, error.isMissing else { throw error }
      }
    }
    return secrets
  }

  /// Returns text that changes when a secret of the token request changes.
  package func fingerprint(ofSecretsFor source: TokenSource) -> String {
    source.sources.map { role, source in
      // The access token itself changes with each renewal, and has no effect on a session that has begun.
      if case .token(let basis) = source { return fingerprint(ofSecretsFor: basis) }
      guard let secret = try? reader.read(source) else { return "-" }
      return secret.withBytes { FingerprintKey.shared.fingerprint(of: $0) ?? "?" }
    }.joined(separator: " ")
  }
}

extension TokenSource {
  package var files: Set<SecretSource> { Set(sources.map(\.source).filter(\.isFile)) }

  package func uses(_ command: SecretCommand) -> Bool { sources.contains { $0.source == .command(command) } }
}
