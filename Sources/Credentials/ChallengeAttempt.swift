package import Policy

/// How a request went out of a credential that answers challenges: to be told what became of it.
package struct ChallengeAttempt {
  let spaces: DigestSpaces
  /// What may be computed.
  package let hashes: Set<DigestHash>
  let origin: Origin
  /// nil: bare, since nothing was known of what the upstream wants.
  let serial: UInt64?

  /// Nothing of the credential has gone out.
  package var isBare: Bool { serial == nil }

  /// The upstream has answered 401.
  /// - Parameter challenge: the best that it makes; nil: none that can be met.
  /// - Returns: whether the request may be answered otherwise if it goes out once more.
  package func rejected(with challenge: DigestChallenge?) -> Bool {
    challenge.map { spaces.learn($0, of: origin, after: serial) } ?? false
  }

  /// It has answered otherwise, and took what was shown.
  /// - Parameter nonce: to be used from now on; nil: as before.
  package func accepted(next nonce: [UInt8]?) {
    if let serial { spaces.accepted(serial, next: nonce) }
  }
}
