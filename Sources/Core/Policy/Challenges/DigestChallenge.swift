package import HTTP1
internal import Primitives

/// A Digest challenge (RFC 7616 section 3.3) to which bearerd can respond. All values are short and have no control
/// characters.
package struct DigestChallenge: Sendable, Equatable {
  package let realm: [UInt8]
  package private(set) var nonce: [UInt8]
  package let opaque: [UInt8]?
  package let hash: DigestHash
  /// Whether the challenge names an `algorithm`, which the client's response must then repeat.
  package let hasAlgorithm: Bool
  /// Whether the algorithm ends with `-sess`.
  package let isSession: Bool
  /// Whether the challenge offers `qop=auth`.
  package let hasQOP: Bool
  /// Whether the server rejected only an old nonce, and not the password.
  package private(set) var isStale: Bool
  package let hashesUserName: Bool
  /// Path prefixes for which the credential is valid. Empty for the whole origin.
  package let domain: [[UInt8]]

  /// Maximum length in bytes of a realm, nonce or `opaque`.
  static let longestValue = 1_024
  private static let longestDomain = 16

  /// Returns the challenge with the strongest of these hashes; `nil` if there is none, or if any challenge cannot be
  /// parsed.
  /// - Parameter realm: the realm that the challenge must have; `nil` for any realm.
  package static func strongest(
    in head: ResponseHead, of hashes: Set<DigestHash>, realm: [UInt8]? = nil
  ) -> DigestChallenge? {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return nil }
    var best: DigestChallenge?
    for challenge in challenges where FieldName.matches(challenge.scheme, of: bytes, "digest") {
      guard let found = DigestChallenge(challenge, of: bytes), hashes.contains(found.hash) else { continue }
      if let realm, found.realm != realm { continue }
      if best.map({ found.isBetter(than: $0) }) ?? true { best = found }
    }
    return best
  }

  /// Returns `nextnonce` of `Authentication-Info` (RFC 7616 section 3.5); `nil` if it is missing or cannot be parsed.
  package static func nextNonce(in head: ResponseHead) -> [UInt8]? {
    let bytes = head.bytes.span
    for field in head.fields {
      guard case .authenticationInfo = field.known, field.value.count <= 2 * longestValue else { continue }
      // `Authentication-Info` has the parameters of a challenge, but no scheme.
      var text = Array("Digest ".utf8)
      text.append(bytes.extracting(field.value))
      guard let info = Challenge.read(0..<text.count, of: text.span), info.count == 1 else { return nil }
      return info[0].value(of: "nextnonce", in: text.span)
    }
    return nil
  }

  private func isBetter(than other: DigestChallenge) -> Bool {
    hash == other.hash ? hasQOP && !other.hasQOP : hash > other.hash
  }

  private init?(_ challenge: Challenge, of bytes: Span<UInt8>) {
    guard challenge.token68 == nil,
      let realm = challenge.value(of: "realm", in: bytes), let nonce = challenge.value(of: "nonce", in: bytes),
      Self.isValid(realm), Self.isValid(nonce), !nonce.isEmpty
    else { return nil }
    opaque = challenge.value(of: "opaque", in: bytes)
    if let opaque, !Self.isValid(opaque) { return nil }
    let algorithm = challenge.value(of: "algorithm", in: bytes).map { Self.word($0) }
    guard let (hash, isSession) = Self.hash(of: algorithm ?? "md5") else { return nil }
    (self.realm, self.nonce, self.hash, self.isSession) = (realm, nonce, hash, isSession)
    hasAlgorithm = algorithm != nil
    if let offer = challenge.value(of: "qop", in: bytes) {
      guard offer.count <= Self.longestValue,
        Self.words(offer, apart: [UInt8(ascii: ","), UInt8(ascii: " ")]).contains(where: { Self.word($0) == "auth" })
      else { return nil }
      hasQOP = true
    } else {
      // Without `qop` there is no client nonce, which the key of a `-sess` algorithm needs.
      if isSession { return nil }
      hasQOP = false
    }
    isStale = challenge.value(of: "stale", in: bytes).map { Self.word($0) == "true" } ?? false
    hashesUserName = challenge.value(of: "userhash", in: bytes).map { Self.word($0) == "true" } ?? false
    domain = Self.paths(challenge.value(of: "domain", in: bytes) ?? [])
  }

  package func isSameNonce(as other: DigestChallenge) -> Bool {
    nonce == other.nonce && isSameProtectionSpace(as: other)
  }

  /// Whether both challenges have the same realm, hash, `-sess` and `domain`.
  package func isSameProtectionSpace(as other: DigestChallenge) -> Bool {
    realm == other.realm && hash == other.hash && isSession == other.isSession && domain == other.domain
  }

  /// Returns this challenge with the server's next nonce (RFC 7616 section 3.5); `nil` if the nonce is invalid.
  package func with(nonce: [UInt8]) -> DigestChallenge? {
    guard !nonce.isEmpty, Self.isValid(nonce) else { return nil }
    var next = self
    (next.nonce, next.isStale) = (nonce, false)
    return next
  }

  /// Returns the length of the longest path in `domain` with which the target begins. 0 if `domain` is empty, `nil` if
  /// no path matches.
  package func domainPrefixLength(of target: Span<UInt8>) -> Int? {
    if domain.isEmpty { return 0 }
    var reach: Int?
    for path in domain where path.count > reach ?? 0 && begins(target, with: path) { reach = path.count }
    return reach
  }

  private func begins(_ target: Span<UInt8>, with path: [UInt8]) -> Bool {
    guard target.count >= path.count else { return false }
    for index in path.indices where target[index] != path[index] { return false }
    return true
  }

  // MARK: reading

  private static func isValid(_ value: [UInt8]) -> Bool {
    value.count <= longestValue && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  private static func hash(of word: String) -> (DigestHash, isSession: Bool)? {
    switch word {
    case "md5": (.md5, false)
    case "md5-sess": (.md5, true)
    case "sha-256": (.sha256, false)
    case "sha-256-sess": (.sha256, true)
    case "sha-512-256": (.sha512Truncated, false)
    case "sha-512-256-sess": (.sha512Truncated, true)
    default: nil
    }
  }

  /// Returns a keyword in lower case; empty if `bytes` is longer than every known keyword.
  private static func word(_ bytes: some Collection<UInt8>) -> String {
    guard bytes.count <= 16 else { return "" }
    return String(decoding: bytes.map(ASCII.lowercased), as: UTF8.self)
  }

  private static func words(_ bytes: [UInt8], apart: [UInt8], most: Int = .max) -> [ArraySlice<UInt8>] {
    bytes.split(maxSplits: most) { apart.contains($0) || $0 == 0x09 }
  }

  /// Returns the absolute paths among the entries of `domain`.
  private static func paths(_ domain: [UInt8]) -> [[UInt8]] {
    // Ignores absolute URIs, because bearerd sends nothing to other origins.
    words(domain, apart: [UInt8(ascii: " ")], most: longestDomain).prefix(longestDomain).filter {
      $0.first == UInt8(ascii: "/") && $0.count <= longestValue
    }.map(Array.init)
  }
}
