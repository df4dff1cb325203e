internal import Policy
package import Secrets

// Logging out of credentials (T46).
extension Keyring {
  /// Wipes what would be written for a credential, alone and together with others. Its value comes back when its file holds
  /// another one; of a credential with a command only a later keyring has one again, and so it has of any other. A token's
  /// is for its keeper to say.
  /// - Parameter isCurrent: false: others may use what files hold and programs have printed; it is not theirs to wipe.
  package func logOut(_ credential: String, isCurrent: Bool) {
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

  /// Whether the credential is not available only because it was logged out.
  package func isLoggedOut(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].isLoggedOut }

  /// With what a client proves who it is, and nothing else: to give a token back. Fails if that is not there.
  package func clientSecrets(of source: TokenSource) throws(SecretProblem) -> TokenSecrets {
    let secrets = TokenSecrets()
    for (role, source) in source.sources where role == .clientSecret || role == .clientKey {
      secrets.put(role, try reader.read(source))
    }
    return secrets
  }

  /// The configured first refresh token; nil: there is none, or it cannot be read.
  package func firstToken(of source: TokenSource) -> Secret? {
    guard let first = source.sources.first(where: { $0.role == .refreshToken }) else { return nil }
    return try? reader.read(first.source)
  }
}

extension TokenValues {
  /// The token itself, which is removed from here to be revoked; nil: there is none.
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
    return takeValue(source)
  }
}
