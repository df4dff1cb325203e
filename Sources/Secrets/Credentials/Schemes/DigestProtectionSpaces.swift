internal import HTTP1
internal import Policy
import Primitives
internal import Secrets
internal import System

// Each worker has its own challenges for each value of the credential, so that only one worker counts the uses of a
// nonce (RFC 7616 section 3.4.5).
/// The Digest challenges that a credential has received, for later requests.
final class DigestProtectionSpaces: ChallengeMemory {
  /// The protection space of a challenge (RFC 7616 section 3.3).
  private final class Space {
    let origin: Origin
    var challenge: DigestChallenge
    /// Unique identifier of the nonce.
    var serial: UInt64
    /// Number of requests sent with the nonce.
    var count: UInt32 = 0
    /// Whether the upstream has accepted a response to the challenge.
    var isAccepted = false
    /// The client's nonce (`cnonce`).
    var clientNonce: [UInt8] = []
    /// The hash of user name, realm and password, H(A1); `nil` until computed.
    var key: Secret?

    init(_ challenge: DigestChallenge, of origin: Origin, serial: UInt64) {
      (self.challenge, self.origin, self.serial) = (challenge, origin, serial)
    }
  }

  private var spaces: [Space] = []
  private var lastSerial: UInt64 = 0

  /// Maximum number of protection spaces, beyond which the oldest is removed.
  private static let mostSpaces = 16
  /// Number of random bytes in a client nonce, which has twice as many digits.
  private static let clientNonceSize = 16

  func forget() { spaces = [] }

  /// Appends the `Authorization` line of a request if a known challenge covers the request.
  /// - Parameter pair: `user:password`.
  /// - Returns: the serial of the nonce; `nil` if the request is sent without the credential.
  func append(
    to line: inout Secret, request: borrowing OutgoingRequest, origin: Origin, pair: borrowing Secret,
    in arena: SecretArena
  ) throws(SystemError) -> UInt64? {
    let target = request.target
    guard let space = space(for: request.line.storage.span.extracting(target), of: origin) else { return nil }
    guard space.count < .max else {
      spaces.removeAll { $0 === space }
      return nil
    }
    if space.key == nil {
      space.clientNonce = Self.clientNonce()
      space.key = try DigestResponse.key(of: pair, for: space.challenge, clientNonce: space.clientNonce, in: arena)
    }
    space.count += 1
    if !space.challenge.isSession { space.clientNonce = Self.clientNonce() }
    let method = request.method
    try request.line.storage.span.withUnsafeBytes { (bytes) throws(SystemError) in
      let response = DigestResponse(
        challenge: space.challenge, method: UnsafeRawBufferPointer(rebasing: bytes[method]),
        target: UnsafeRawBufferPointer(rebasing: bytes[target]), count: space.count, clientNonce: space.clientNonce,
        in: arena)
      switch space.key {
      case .none: break
      case .some(let key): try response.append(key: key, pair: pair, to: &line)
      }
    }
    return space.serial
  }

  /// Processes the best challenge of a 401 response, and returns whether sending the request again may succeed.
  /// - Parameter serial: the serial of the nonce that was sent; `nil` if the request was sent without the credential.
  func learn(_ challenge: DigestChallenge, of origin: Origin, after serial: UInt64?) -> Bool {
    let used = serial.flatMap { serial in spaces.first { $0.serial == serial } }
    // A retry may succeed if the challenge is for another space, or if the upstream accepted the password before and
    // only the nonce has changed.
    let mayRetrySucceed =
      serial == nil || challenge.isStale
      || used.map {
        !$0.challenge.isSameProtectionSpace(as: challenge) || $0.isAccepted && $0.challenge.nonce != challenge.nonce
      }
        ?? true
    // The server may have another password by now, so the next response must be accepted first.
    if !challenge.isStale { used?.isAccepted = false }
    store(challenge, of: origin)
    return mayRetrySucceed
  }

  /// Records that the upstream accepted a response computed with the nonce `serial`.
  /// - Parameter nonce: the server's nonce for later requests; `nil` to keep the current nonce.
  func accepted(_ serial: UInt64, next nonce: [UInt8]?) {
    guard let space = spaces.first(where: { $0.serial == serial }) else { return }
    space.isAccepted = true
    // Servers differ in whether a session key depends on the first nonce or on the next nonce. Therefore keep the
    // session key until the server reports it as stale.
    guard let nonce, !space.challenge.isSession, nonce != space.challenge.nonce,
      let next = space.challenge.with(nonce: nonce)
    else { return }
    renew(space, next)
  }

  private func store(_ challenge: DigestChallenge, of origin: Origin) {
    let known = spaces.firstIndex { $0.origin == origin && $0.challenge.isSameProtectionSpace(as: challenge) }
    guard let known else {
      if spaces.count >= Self.mostSpaces { spaces.removeFirst() }
      lastSerial &+= 1
      return spaces.append(Space(challenge, of: origin, serial: lastSerial))
    }
    let space = spaces.remove(at: known)
    spaces.append(space)
    if space.challenge.isSameNonce(as: challenge) {
      // Continue counting the uses of the nonce.
      space.challenge = challenge
    } else {
      renew(space, challenge)
    }
  }

  private func renew(_ space: Space, _ challenge: DigestChallenge) {
    lastSerial &+= 1
    (space.serial, space.challenge, space.count) = (lastSerial, challenge, 0)
    if challenge.isSession { space.key = nil }
  }

  /// Returns the protection space that covers `target` with the longest path prefix; `nil` if there is none.
  private func space(for target: Span<UInt8>, of origin: Origin) -> Space? {
    // If several prefixes are equally long, the most recent space.
    var best: (space: Space, reach: Int)?
    for space in spaces where space.origin == origin {
      guard let reach = space.challenge.domainPrefixLength(of: target), reach >= best?.reach ?? 0 else { continue }
      best = (space, reach)
    }
    return best?.space
  }

  private static func clientNonce() -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<(2 * clientNonceSize)).map { _ in
      ASCII.hexDigit(UInt8.random(in: 0...15, using: &random))
    }
  }
}
