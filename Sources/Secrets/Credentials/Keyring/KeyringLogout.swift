internal import Policy
package import Secrets
package import Settings

// Logouts of credentials (T46).
extension Keyring {
  /// Wipes the credential's value, also in grants that send it together with other credentials. Afterwards, a value
  /// from files is used only if it has changed, and a value from a command only in a later keyring.
  /// - Parameter isCurrent: whether the keyring is in use.
  package func logOut(_ credential: String, isCurrent: Bool) {
    // Requests that were sent before the logout, and wait for the end of this turn of the loop.
    stage.vacate()
    // If it is in use, this also wipes values of files and commands that no other credential uses. The token provider
    // wipes tokens.
    let indices = Set(slots.indices.filter { slots[$0].entry.grant.includes(credential) })
    for index in indices { slots[index].logOut() }
    guard isCurrent else { return }
    for scheme in indices.map({ slots[$0].entry.scheme }) {
      for file in scheme.files where isUsedNowhereElse(file, than: indices) { reader.files.wipe(file) }
      for command in scheme.commands where !commands.contains(command) { reader.commands.expire(command) }
    }
  }

  private func isUsedNowhereElse(_ file: SecretSource, than indices: Set<Int>) -> Bool {
    !slots.indices.contains { !indices.contains($0) && slots[$0].entry.files.contains(file) }
  }

  package func isLoggedOut(grant index: Int) -> Bool { slot(index)?.isLoggedOut ?? false }

  /// Returns the secrets of the client and of the header fields, which a revocation needs. Throws if a secret is missing.
  package func clientSecrets(of source: TokenSource) throws(SecretProblem) -> TokenSecrets {
    let secrets = TokenSecrets()
    for (role, source) in source.sources where role.isOfEveryRequest {
      secrets.put(role, try reader.read(source))
    }
    return secrets
  }

  /// Returns the configured first refresh token; `nil` if there is none or it cannot be read.
  package func firstToken(of source: TokenSource) -> Secret? {
    guard let first = source.sources.first(where: { $0.role == .refreshToken }) else { return nil }
    return try? reader.read(first.source)
  }
}

extension TokenValues {
  /// Removes and returns the token, to revoke it; `nil` if there is none.
  package func withdraw(_ source: TokenSource) -> Secret? {
    let remedy =
      if source.isByLogin {
        "run bearerctl login"
      } else if source.sources.contains(where: { $0.role == .refreshToken }) {
        "put a new refresh token into its source"
      } else if source.sources.contains(where: { $0.source.command != nil }) {
        "run bearerctl reload"
      } else {
        "change one of its secrets or run bearerctl reload"
      }
    defer { fail(source, "it was logged out: to use it again, \(remedy)") }
    return removeToken(source)
  }
}
