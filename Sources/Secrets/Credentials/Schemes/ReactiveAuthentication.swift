package import Policy

/// Marks a credential that is sent only after the upstream has asked for `scheme`.
final class ReactiveAuthentication: ChallengeMemory {
  let scheme: ChallengedScheme

  init(_ scheme: ChallengedScheme) { self.scheme = scheme }
}

extension ChallengeAttempt {
  /// The scheme that the upstream must ask for before the credential is sent; `nil` for other kinds of attempts.
  package var awaited: ChallengedScheme? {
    if case .awaited(let start) = kind { start.scheme } else { nil }
  }
}
