internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System

/// The repository and kind of a request to a registry, as far as tokens tell it apart: another one of both needs the same
/// token.
struct RegistryPlace: Equatable {
  enum Kind { case reads, deletes, writes }

  let repository: [UInt8]
  let kind: Kind

  /// nil: the head has no first line that could go out.
  init?(_ head: Span<UInt8>) {
    guard let line = SignedRequestLine(head) else { return nil }
    let method = head.extracting(line.method)
    kind =
      switch true {
      case Self.equals(method, "GET"), Self.equals(method, "HEAD"): .reads
      case Self.equals(method, "DELETE"): .deletes
      default: .writes
      }
    repository = Self.repository(of: head.extracting(line.target))
  }

  /// The part of a target before the last of the words behind which a thing in a repository is named; of other targets, the
  /// path.
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

/// Tokens that a registry's token server has granted for one credential, each for what it was asked for. Of one worker and one
/// value of the credential.
final class RegistryTokens {
  private final class Token {
    let challenge: RegistryChallenge
    let origin: Origin
    /// The whole field line.
    let line: Secret
    /// `BootTimer`'s milliseconds.
    let end: UInt64
    let serial: UInt64
    /// The patterns for answers to requests with this token: made when it goes out for the first time; nil until then.
    var patterns: SecretPatterns?

    init(_ challenge: RegistryChallenge, _ origin: Origin, line: consuming Secret, end: UInt64, serial: UInt64) {
      (self.challenge, self.origin, self.end, self.serial) = (challenge, origin, end, serial)
      self.line = line
    }
  }

  private struct Need {
    let place: RegistryPlace
    let origin: Origin
    let challenge: RegistryChallenge
  }

  private var tokens: [Token] = []
  private var needs: [Need] = []
  private var lastSerial: UInt64 = 0
  /// An upstream asks for something else, and that has been told.
  var hasComplained = false
  /// Counts up each time the credential's value changes.
  private(set) var epoch: UInt64 = 0

  /// The oldest go: clients of many repositories, and upstreams that ask for ever new things.
  private static let mostTokens = 64
  private static let mostNeeds = 256

  /// The value of the credential is another one.
  func forget() {
    (tokens, needs) = ([], [])
    epoch &+= 1
  }

  /// Appends the line of a request, or nothing: it is not known yet what it needs, or there is no token for that.
  /// - Returns: the token's serial; nil: the request goes out bare.
  func append(
    to line: inout Secret, for place: RegistryPlace, of origin: Origin, at now: UInt64
  ) throws(SystemError) -> UInt64? {
    guard let need = needs.last(where: { $0.place == place && $0.origin == origin }),
      let token = token(for: need.challenge, of: origin, at: now)
    else { return nil }
    try token.line.withBytes { (bytes) throws(SystemError) in try line.append(bytes) }
    return token.serial
  }

  /// The patterns to look for in the answer to a request that goes out with this token.
  /// - Parameter own: of the credential's value, which is one and the same until `forget`.
  func patterns(
    ofToken serial: UInt64, beside own: SecretPatterns, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns {
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

  /// Learns what the upstream wants for a place.
  func learn(_ challenge: RegistryChallenge, for place: RegistryPlace, of origin: Origin) {
    needs.removeAll { $0.place == place && $0.origin == origin }
    if needs.count >= Self.mostNeeds { needs.removeFirst() }
    needs.append(Need(place: place, origin: origin, challenge: challenge))
  }

  /// Whether there is a token for that, which is another one than that of `serial`.
  func has(_ challenge: RegistryChallenge, of origin: Origin, otherThan serial: UInt64?, at now: UInt64) -> Bool {
    token(for: challenge, of: origin, at: now).map { $0.serial != serial } ?? false
  }

  /// In the place of what was there for the same.
  /// - Parameter lifetime: milliseconds.
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
    let (end, isTooMuch) = now.addingReportingOverflow(lifetime)
    tokens.append(Token(challenge, origin, line: line, end: isTooMuch ? .max : end, serial: lastSerial))
  }

  private func token(for challenge: RegistryChallenge, of origin: Origin, at now: UInt64) -> Token? {
    tokens.last { $0.challenge == challenge && $0.origin == origin && $0.end > now }
  }
}
