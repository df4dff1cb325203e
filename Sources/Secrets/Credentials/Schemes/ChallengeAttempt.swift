package import Policy
package import Secrets
package import Settings
package import System

/// Records how a request was sent with a credential that responds to challenges, and processes the upstream's response.
package final class ChallengeAttempt {
  enum Kind {
    case digest(DigestProtectionSpaces, Set<DigestHash>)
    case registry(RegistryTokens, RegistryTarget, TokenSource)
    case awaited(ReactiveAuthentication)
  }

  let kind: Kind
  package let origin: Origin
  /// Identifies the nonce or token that was sent; `nil` if the request was sent without the credential.
  let serial: UInt64?
  /// The realm that a challenge must have; `nil` for any realm.
  package let realm: [UInt8]?
  private let epoch: UInt64

  init(kind: Kind, origin: Origin, serial: UInt64?, realm: [UInt8]? = nil) {
    self.kind = kind
    self.realm = realm
    self.origin = origin
    self.serial = serial
    epoch = if case .registry(let tokens, _, _) = kind { tokens.epoch } else { 0 }
  }

  /// Whether the request was sent without the credential.
  package var isBare: Bool { serial == nil }

  /// Returns a message for the log about a 401 response without a challenge for this credential. `nil` if an earlier
  /// call has returned the message.
  package func mismatchMessage() -> String? {
    let (memory, demand): (ChallengeMemory, String) =
      switch kind {
      case .digest(let spaces, let hashes):
        (spaces, "Digest with \(hashes.sorted().map(\.rawValue).joined(separator: ", "))")
      case .registry(let tokens, _, let source): (tokens, "a token of \(source.endpoint)")
      case .awaited(let start): (start, start.scheme.rawValue)
      }
    if memory.hasLoggedMismatch { return nil }
    memory.hasLoggedMismatch = true
    let place = realm.map { " in the realm \"\(String(decoding: $0, as: UTF8.self))\"" } ?? ""
    return "the upstream responds with 401, but does not ask for \(demand)\(place)"
  }

  // MARK: digest

  package var hashes: Set<DigestHash>? {
    if case .digest(_, let hashes) = kind { hashes } else { nil }
  }

  /// Processes a 401 response. Returns whether sending the request again may succeed.
  /// - Parameter challenge: the best challenge in the response; `nil` if the credential can meet none of them.
  package func rejected(with challenge: DigestChallenge?) -> Bool {
    guard case .digest(let spaces, _) = kind, let challenge else { return false }
    return spaces.learn(challenge, of: origin, after: serial)
  }

  /// Processes a response other than 401.
  /// - Parameter nonce: the server's nonce for later requests; `nil` to keep the current nonce.
  package func accepted(next nonce: [UInt8]?) {
    if case .digest(let spaces, _) = kind, let serial { spaces.accepted(serial, next: nonce) }
  }

  // MARK: registry tokens

  package var tokenServer: TokenSource? {
    if case .registry(_, _, let source) = kind { source } else { nil }
  }

  /// Processes a 401 response that demands a token. Returns whether a matching token is available that was not sent
  /// yet.
  package func rejected(with challenge: RegistryChallenge) -> Bool {
    guard case .registry(let tokens, let target, _) = kind else { return false }
    tokens.learn(challenge, for: target, of: origin)
    return tokens.has(challenge, of: origin, otherThan: serial, at: BootTimer.now)
  }

  /// Stores a token that the token server has granted for the challenge.
  /// - Parameter lifetime: the token's lifetime in milliseconds.
  package func put(
    _ token: borrowing Secret, for challenge: RegistryChallenge, lifetime: UInt64, in arena: SecretArena
  ) throws(SystemError) {
    guard case .registry(let tokens, _, _) = kind else { return }
    try tokens.put(token, for: challenge, of: origin, lifetime: lifetime, at: BootTimer.now, in: arena)
  }

  /// Whether both attempts use a registry token for the same value of the same credential at the same origin.
  package func isOfSame(as other: ChallengeAttempt) -> Bool {
    guard case .registry(let mine, _, _) = kind, case .registry(let theirs, _, _) = other.kind else { return false }
    return mine === theirs && origin == other.origin && epoch == other.epoch
  }

  /// Whether the credential still has the value that the attempt was made with.
  package var isCurrent: Bool {
    if case .registry(let tokens, _, _) = kind { epoch == tokens.epoch } else { true }
  }
}

/// What a credential has learned from an upstream's challenges.
class ChallengeMemory {
  var hasLoggedMismatch = false
}
