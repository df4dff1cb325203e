internal import Secrets
internal import Policy

/// The traits of a credential, as its configuration says: the same for every value of it.
struct CredentialTraits {
  /// The files that its lines are made of.
  let files: [SecretSource]
  /// Whether its lines are made of files alone.
  let isOfFiles: Bool
  /// Whether a program of it is told what becomes of the value that it gave.
  let hasListeners: Bool
  /// The challenges that Digest answers, with lines of user, colon and password; nil: another scheme.
  let digest: (spaces: DigestSpaces, hashes: Set<DigestHash>)?
  /// A container registry's tokens, whose lines are user, colon and password in base64, or nothing; nil: another scheme.
  let registry: (tokens: RegistryTokens, source: TokenSource)?
  /// The scheme that an upstream has to ask for before the credential is sent; nil: it is sent unasked.
  let reactiveAuthentication: ReactiveAuthentication?
  /// Whether what is written depends on what the upstream has asked for.
  let answersChallenges: Bool

  var hasFiles: Bool { !files.isEmpty }

  init(_ row: KeyringPlan.Row) {
    let scheme = row.entry.scheme
    (files, isOfFiles) = (row.files, row.isOfFiles)
    hasListeners = scheme.commands.contains(where: \.isListener)
    digest = scheme.hashes.map { (DigestSpaces(), $0) }
    registry = scheme.registry.map { (RegistryTokens(), $0) }
    reactiveAuthentication =
      if case .awaited(let scheme) = row.entry.grant.authRetry { ReactiveAuthentication(scheme) } else { nil }
    answersChallenges = digest != nil || registry != nil || reactiveAuthentication != nil
  }
}
