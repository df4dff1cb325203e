package import Policy

/// A credential that does not go out before the upstream has asked for it. Nothing is learnt from one request for the next: only
/// whether the log has been told already.
final class ReactiveAuthentication {
  let scheme: ChallengedScheme
  var hasComplained = false

  init(_ scheme: ChallengedScheme) { self.scheme = scheme }
}

extension ChallengeAttempt {
  /// The scheme that the upstream has to ask for before the credential goes out; nil: it is of another kind.
  package var awaited: ChallengedScheme? {
    if case .awaited(let start) = kind { start.scheme } else { nil }
  }
}
