package import Policy
package import Secrets
package import System

/// How a request went out of a credential that answers challenges: to be told what became of it. A class: each request of any
/// credential has room for one.
package final class ChallengeAttempt {
  enum Kind {
    case digest(DigestSpaces, Set<DigestHash>)
    case registry(RegistryTokens, RegistryPlace, TokenSource)
    case awaited(ReactiveAuthentication)
  }

  let kind: Kind
  package let origin: Origin
  /// Identifies the nonce or token that was shown; nil: the request went out bare, as it was not known what the upstream wants.
  let serial: UInt64?
  private let epoch: UInt64

  init(kind: Kind, origin: Origin, serial: UInt64?) {
    self.kind = kind
    self.origin = origin
    self.serial = serial
    epoch = if case .registry(let tokens, _, _) = kind { tokens.epoch } else { 0 }
  }

  /// Nothing of the credential has gone out.
  package var isBare: Bool { serial == nil }
}

extension ChallengeAttempt {
  /// The upstream asks for nothing that the credential can give: the end of a sentence for the log; nil: that has been said.
  package func complaint() -> String? {
    switch kind {
    case .digest(let spaces, let hashes):
      if spaces.hasComplained { return nil }
      spaces.hasComplained = true
      let names = hashes.sorted().map(\.rawValue).joined(separator: ", ")
      return "the upstream responds with 401, but does not ask for Digest with \(names)"
    case .registry(let tokens, _, let source):
      if tokens.hasComplained { return nil }
      tokens.hasComplained = true
      return "the upstream responds with 401, but does not ask for a token of \(source.endpoint)"
    case .awaited(let start):
      if start.hasComplained { return nil }
      start.hasComplained = true
      return "the upstream responds with 401, but does not ask for \(start.scheme.rawValue)"
    }
  }
}

/// An attempt by Digest.
extension ChallengeAttempt {
  /// The hashes that may be computed; nil: the attempt is of another kind.
  package var hashes: Set<DigestHash>? {
    if case .digest(_, let hashes) = kind { hashes } else { nil }
  }

  /// The upstream has answered 401.
  /// - Parameter challenge: the best that it makes; nil: none that can be met.
  /// - Returns: whether the request may be answered otherwise if it goes out once more.
  package func rejected(with challenge: DigestChallenge?) -> Bool {
    guard case .digest(let spaces, _) = kind, let challenge else { return false }
    return spaces.learn(challenge, of: origin, after: serial)
  }

  /// The upstream has answered other than 401, and so accepted what was shown.
  /// - Parameter nonce: to be used from now on; nil: as before.
  package func accepted(next nonce: [UInt8]?) {
    if case .digest(let spaces, _) = kind, let serial { spaces.accepted(serial, next: nonce) }
  }
}

/// An attempt with a registry's token.
extension ChallengeAttempt {
  /// The source that grants the tokens; nil: the attempt is of another kind.
  package var tokenServer: TokenSource? {
    if case .registry(_, _, let source) = kind { source } else { nil }
  }

  /// The upstream has answered 401, and wants a token for this. Whether there is one, other than that which was shown.
  package func rejected(with challenge: RegistryChallenge) -> Bool {
    guard case .registry(let tokens, let place, _) = kind else { return false }
    tokens.learn(challenge, for: place, of: origin)
    return tokens.has(challenge, of: origin, otherThan: serial, at: BootTimer.now)
  }

  /// One was granted.
  /// - Parameter lifetime: milliseconds.
  package func put(
    _ token: borrowing Secret, for challenge: RegistryChallenge, lifetime: UInt64, in arena: SecretArena
  ) throws(SystemError) {
    guard case .registry(let tokens, _, _) = kind else { return }
    try tokens.put(token, for: challenge, of: origin, lifetime: lifetime, at: BootTimer.now, in: arena)
  }

  /// Whether both attempts are with the same value of the same credential, at the same origin.
  package func isOfSame(as other: ChallengeAttempt) -> Bool {
    guard case .registry(let mine, _, _) = kind, case .registry(let theirs, _, _) = other.kind else { return false }
    return mine === theirs && origin == other.origin && epoch == other.epoch
  }

  /// Whether the credential still has the value that the attempt was made with: a token granted to another one is not used.
  package var isCurrent: Bool {
    if case .registry(let tokens, _, _) = kind { epoch == tokens.epoch } else { true }
  }
}
