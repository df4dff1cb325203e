internal import HTTP1
internal import Policy
internal import Primitives
@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System

/// The repository and the kind of access of a request to a registry.
struct RegistryTarget: Equatable {
  enum Kind { case reads, deletes, writes }

  let repository: [UInt8]
  let kind: Kind

  init(_ request: borrowing OutgoingRequest) {
    let line = request.line.storage.span
    let method = line.extracting(request.method)
    kind =
      switch true {
      case Self.equals(method, "GET"), Self.equals(method, "HEAD"): .reads
      case Self.equals(method, "DELETE"): .deletes
      default: .writes
      }
    repository = Self.repository(of: line.extracting(request.target))
  }

  /// Returns the path before the last `/blobs/`, `/manifests/`, `/tags/` or `/referrers/`; otherwise the whole path.
  private static func repository(of target: Span<UInt8>) -> [UInt8] {
    var path: [UInt8] = []
    for index in 0..<target.count {
      if target[index] == UInt8(ascii: "?") { break }
      path.append(target[index])
    }
    let words = ["/blobs/", "/manifests/", "/tags/", "/referrers/"].map { Array($0.utf8) }
    for start in path.indices.reversed() {
      if words.contains(where: { path[start...].starts(with: $0) }) { return Array(path[..<start]) }
    }
    return path
  }

  private static func equals(_ bytes: Span<UInt8>, _ word: StaticString) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where bytes[index] != word.utf8Start[index] { return false }
    return true
  }
}

/// The tokens that a registry's token server has granted to one worker for one credential, by challenge.
final class RegistryTokens: ChallengeMemory {
  private final class Token {
    let challenge: RegistryChallenge
    let origin: Origin
    let line: Secret
    /// When the token expires, in milliseconds of `BootTimer`.
    let end: UInt64
    let serial: UInt64
    var patterns: SecretPatterns?

    init(_ challenge: RegistryChallenge, _ origin: Origin, line: consuming Secret, end: UInt64, serial: UInt64) {
      (self.challenge, self.origin, self.end, self.serial) = (challenge, origin, end, serial)
      self.line = line
    }
  }

  private struct Need {
    let target: RegistryTarget
    let origin: Origin
    let challenge: RegistryChallenge
  }

  private var tokens: [Token] = []
  private var needs: [Need] = []
  private var lastSerial: UInt64 = 0
  /// Incremented each time the credential's value changes.
  private(set) var epoch: UInt64 = 0

  /// Maximum numbers of tokens and known challenges, beyond which the oldest is removed.
  private static let mostTokens = 64
  private static let mostNeeds = 256

  func forget() {
    (tokens, needs) = ([], [])
    epoch &+= 1
  }

  /// Appends the `Authorization` line of a request if there is a token for it.
  /// - Returns: the serial of the token; `nil` if the request is sent without the credential.
  func append(
    to line: inout Secret, for target: RegistryTarget, of origin: Origin, at now: UInt64
  ) throws(SystemError) -> UInt64? {
    guard let need = needs.last(where: { $0.target == target && $0.origin == origin }),
      let token = token(for: need.challenge, of: origin, at: now)
    else { return nil }
    try token.line.withBytes { (bytes) throws(SystemError) in try line.append(bytes) }
    return token.serial
  }

  /// Returns the patterns to search for in the response to a request with this token.
  /// - Parameter own: the patterns of the credential's own value.
  func patterns(
    ofToken serial: UInt64, beside own: SecretPatterns, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns {
    // The result is cached, so `own` must be the same until `forget` is called.
    guard let token = tokens.first(where: { $0.serial == serial }) else { return own }
    if let patterns = token.patterns { return patterns }
    var value = try SecretList(in: arena)
    try token.line.withBytes { (line) throws(SystemError) in
      let line = UnsafeRawBufferPointer(rebasing: line[Self.prefix.utf8.count..<(line.count - 2)])
      try value.add { (text) throws(SystemError) in try text.append(line) }
    }
    let patterns = try SecretPatterns(own, and: value, in: arena)
    token.patterns = patterns
    return patterns
  }

  private static let prefix = "Authorization: Bearer "

  /// Stores the challenge that the upstream sends for requests to `target`.
  func learn(_ challenge: RegistryChallenge, for target: RegistryTarget, of origin: Origin) {
    needs.removeAll { $0.target == target && $0.origin == origin }
    if needs.count >= Self.mostNeeds { needs.removeFirst() }
    needs.append(Need(target: target, origin: origin, challenge: challenge))
  }

  /// Whether there is an unexpired token for the challenge, other than the token with `serial`.
  func has(_ challenge: RegistryChallenge, of origin: Origin, otherThan serial: UInt64?, at now: UInt64) -> Bool {
    token(for: challenge, of: origin, at: now).map { $0.serial != serial } ?? false
  }

  /// Stores a token with its lifetime in milliseconds, and replaces an earlier token for the same challenge.
  func put(
    _ token: borrowing Secret, for challenge: RegistryChallenge, of origin: Origin, lifetime: UInt64, at now: UInt64,
    in arena: SecretArena
  ) throws(SystemError) {
    var line = try Secret(capacity: token.count + 32, in: arena)
    try line.append(Self.prefix)
    try token.withBytes { (bytes) throws(SystemError) in try line.append(bytes) }
    try line.append("\r\n")
    tokens.removeAll { $0.challenge == challenge && $0.origin == origin || $0.end <= now }
    if tokens.count >= Self.mostTokens { tokens.removeFirst() }
    lastSerial &+= 1
    let (end, overflow) = now.addingReportingOverflow(lifetime)
    tokens.append(Token(challenge, origin, line: line, end: overflow ? .max : end, serial: lastSerial))
  }

  private func token(for challenge: RegistryChallenge, of origin: Origin, at now: UInt64) -> Token? {
    tokens.last { $0.challenge == challenge && $0.origin == origin && $0.end > now }
  }
}
