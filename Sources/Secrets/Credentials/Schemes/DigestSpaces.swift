internal import Policy
import Primitives
internal import Secrets
internal import System

/// The challenges that a Digest credential knows of the servers that it goes to, with which later requests go out at once.
/// There is one for each worker and each value of the credential, so that no other counts its nonces (RFC 7616 section 3.4.5).
final class DigestSpaces {
  /// The protection space of one challenge.
  private final class Space {
    let origin: Origin
    var challenge: DigestChallenge
    /// Identifies the nonce: no other has it.
    var serial: UInt64
    /// Requests that have gone out with the nonce.
    var count: UInt32 = 0
    /// An upstream has taken an answer to it.
    var isAccepted = false
    /// The client's nonce (`cnonce`); for a session's `key`, the one that it was made with.
    var number: [UInt8] = []
    /// H(A1).
    var key: Secret?

    init(_ challenge: DigestChallenge, of origin: Origin, serial: UInt64) {
      (self.challenge, self.origin, self.serial) = (challenge, origin, serial)
    }
  }

  private var spaces: [Space] = []
  private var lastSerial: UInt64 = 0
  /// An upstream asks for something else, and that has been told.
  var hasComplained = false

  /// The oldest goes: an upstream could have us remember one for each answer.
  private static let mostSpaces = 16
  /// Bytes of our numbers, as twice as many digits.
  private static let numberSize = 16

  /// The value of the credential is another one.
  func forget() { spaces = [] }

  /// Appends the line of a request, or nothing: no challenge is known yet that would be met by it.
  /// - Parameters:
  ///   - head: of the request, from its first line on.
  ///   - pair: user, colon, password.
  /// - Returns: the serial of its nonce; nil: the request goes out bare.
  func append(
    to line: inout Secret, head: Span<UInt8>, origin: Origin, pair: borrowing Secret, in arena: SecretArena
  ) throws(SystemError) -> UInt64? {
    guard let first = SignedRequestLine(head), let space = space(for: head.extracting(first.target), of: origin) else {
      return nil
    }
    guard space.count < .max else {
      spaces.removeAll { $0 === space }
      return nil
    }
    if space.key == nil {
      space.number = Self.number()
      space.key = try DigestAnswer.key(of: pair, for: space.challenge, number: space.number, in: arena)
    }
    space.count += 1
    if !space.challenge.isSession { space.number = Self.number() }
    try head.withUnsafeBytes { (bytes) throws(SystemError) in
      let answer = DigestAnswer(
        challenge: space.challenge, method: UnsafeRawBufferPointer(rebasing: bytes[first.method]),
        target: UnsafeRawBufferPointer(rebasing: bytes[first.target]), count: space.count, number: space.number,
        in: arena)
      switch space.key {
      case .none: break
      case .some(let key): try answer.append(key: key, pair: pair, to: &line)
      }
    }
    return space.serial
  }

  /// The upstream has answered 401, with this challenge as the best.
  /// - Parameter serial: of the nonce with which the request went out; nil: it went out bare.
  /// - Returns: whether the request may be answered otherwise if it goes out once more.
  func learn(_ challenge: DigestChallenge, of origin: Origin, after serial: UInt64?) -> Bool {
    let used = serial.flatMap { serial in spaces.first { $0.serial == serial } }
    // The password was good before: now it is the nonce that is not. Another space asks for something else.
    let isWorthIt =
      serial == nil || challenge.isStale
      || used.map { !$0.challenge.isSameSpace(as: challenge) || $0.isAccepted && $0.challenge.nonce != challenge.nonce }
        ?? true
    // The password may be another one by now: what follows has to prove itself anew.
    if !challenge.isStale { used?.isAccepted = false }
    take(challenge, of: origin)
    return isWorthIt
  }

  /// The upstream has taken what was shown.
  /// - Parameter nonce: to be used from now on; nil: as before.
  func accepted(_ serial: UInt64, next nonce: [UInt8]?) {
    guard let space = spaces.first(where: { $0.serial == serial }) else { return }
    space.isAccepted = true
    // A session's key is of the nonce that it began with, or of the next: servers differ. It goes on until it is stale.
    guard let nonce, !space.challenge.isSession, nonce != space.challenge.nonce,
      let next = space.challenge.with(nonce: nonce)
    else { return }
    renew(space, next)
  }

  private func take(_ challenge: DigestChallenge, of origin: Origin) {
    let known = spaces.firstIndex { $0.origin == origin && $0.challenge.isSameSpace(as: challenge) }
    guard let known else {
      if spaces.count >= Self.mostSpaces { spaces.removeFirst() }
      lastSerial &+= 1
      return spaces.append(Space(challenge, of: origin, serial: lastSerial))
    }
    let space = spaces.remove(at: known)
    spaces.append(space)
    if space.challenge.isSameNonce(as: challenge) {
      // The nonce goes on being counted.
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

  /// The one that names most of the target, and of several the one that was heard of last.
  private func space(for target: Span<UInt8>, of origin: Origin) -> Space? {
    var best: (space: Space, reach: Int)?
    for space in spaces where space.origin == origin {
      guard let reach = space.challenge.reach(target), reach >= best?.reach ?? 0 else { continue }
      best = (space, reach)
    }
    return best?.space
  }

  /// A client's nonce: random hexadecimal digits.
  private static func number() -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<(2 * numberSize)).map { _ in ASCII.hexDigit(UInt8.random(in: 0...15, using: &random)) }
  }
}

/// The ranges of method and target in a request's first line (RFC 9112 section 3).
struct SignedRequestLine {
  let method: Range<Int>
  let target: Range<Int>

  /// nil: it is no such line.
  init?(_ head: Span<UInt8>) {
    var ends: [Int] = []
    for index in 0..<head.count {
      if head[index] == 0x0D { break }
      if head[index] == 0x20 { ends.append(index) }
    }
    guard ends.count == 2, ends[0] > 0, ends[1] > ends[0] + 1 else { return nil }
    method = 0..<ends[0]
    target = (ends[0] + 1)..<ends[1]
  }
}
