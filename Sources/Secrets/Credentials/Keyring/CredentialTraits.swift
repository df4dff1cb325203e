internal import Secrets
internal import Policy
internal import Settings

/// The properties of a credential that do not change with its value.
struct CredentialTraits {
  let files: [SecretSource]
  /// Whether all secrets of the credential come from files.
  let isOfFiles: Bool
  let wantsFeedback: Bool
  /// The known challenges and allowed hashes of Digest; `nil` for other schemes.
  let digest: (spaces: DigestProtectionSpaces, hashes: Set<DigestHash>)?
  /// The tokens of a container registry and their token server; `nil` for other schemes.
  let registry: (tokens: RegistryTokens, source: TokenSource)?
  /// The scheme that an upstream must ask for before the credential is sent; `nil` if it is sent unasked.
  let reactiveAuthentication: ReactiveAuthentication?
  /// The realm that a challenge must have; `nil` for any realm.
  let realm: [UInt8]?
  let respondsToChallenges: Bool

  var hasFiles: Bool { !files.isEmpty }

  init(_ row: KeyringPlan.Row) {
    let scheme = row.entry.scheme
    (files, isOfFiles) = (row.files, row.isOfFiles)
    wantsFeedback = scheme.commands.contains(where: \.wantsFeedback)
    digest = scheme.hashes.map { (DigestProtectionSpaces(), $0) }
    registry = scheme.registry.map { (RegistryTokens(), $0) }
    reactiveAuthentication =
      if case .challenged(let scheme, _) = row.entry.grant.authRetry { ReactiveAuthentication(scheme) } else { nil }
    realm = row.entry.grant.authRetry.realm
    respondsToChallenges = digest != nil || registry != nil || reactiveAuthentication != nil
  }
}
