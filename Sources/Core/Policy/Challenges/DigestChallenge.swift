package import HTTP1
internal import Primitives

/// A challenge for Digest (RFC 7616 section 3.3) that can be met: everything in it has been looked at, is short, and has no byte
/// that could end a field's line. It comes from an upstream, which may say anything.
package struct DigestChallenge: Sendable, Equatable {
  /// Without the backslashes of its quotation.
  package let realm: [UInt8]
  package let nonce: [UInt8]
  /// nil: there was none.
  package let opaque: [UInt8]?
  package let hash: DigestHash
  /// The challenge named its hash, and so the answer does.
  package let namesHash: Bool
  /// `-sess`: the key is of one nonce.
  package let isSession: Bool
  /// `qop=auth` is offered. Otherwise it is the form of RFC 2069, which counts nothing.
  package let hasQuality: Bool
  /// The nonce was old, and the rest was right.
  package let isStale: Bool
  /// The user's name goes out as a hash.
  package let hashesUser: Bool
  /// The places it is for, as the beginnings of paths; empty: for the whole origin.
  package let domain: [[UInt8]]

  /// More is no realm and no nonce that anybody means.
  static let longestValue = 1_024
  private static let longestDomain = 16

  /// The best that these hashes can meet: the strongest hash, and of the same one that which says `qop`. nil: there is none, or
  /// one of the fields cannot be read, so that it is unknown what they ask for.
  package static func strongest(in head: ResponseHead, of hashes: Set<DigestHash>) -> DigestChallenge? {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return nil }
    var best: DigestChallenge?
    for challenge in challenges where FieldName.matches(challenge.scheme, of: bytes, "digest") {
      guard let found = DigestChallenge(challenge, of: bytes), hashes.contains(found.hash) else { continue }
      if best.map({ found.isBetter(than: $0) }) ?? true { best = found }
    }
    return best
  }

  /// The nonce that `Authentication-Info` wants used next (RFC 7616 section 3.5); nil: nothing is said, or it cannot be read.
  package static func nextNonce(in head: ResponseHead) -> [UInt8]? {
    let bytes = head.bytes.span
    for field in head.fields {
      guard case .authenticationInfo = field.known, field.value.count <= 2 * longestValue else { continue }
      // The parameters of a challenge without its scheme.
      var text = Array("Digest ".utf8)
      text.append(bytes.extracting(field.value))
      guard let info = Challenge.read(0..<text.count, of: text.span), info.count == 1 else { return nil }
      return info[0].value(of: "nextnonce", in: text.span)
    }
    return nil
  }

  private func isBetter(than other: DigestChallenge) -> Bool {
    hash == other.hash ? hasQuality && !other.hasQuality : hash > other.hash
  }

  private init?(_ challenge: Challenge, of bytes: Span<UInt8>) {
    guard challenge.token68 == nil,
      let realm = challenge.value(of: "realm", in: bytes), let nonce = challenge.value(of: "nonce", in: bytes),
      Self.isGood(realm), Self.isGood(nonce), !nonce.isEmpty
    else { return nil }
    opaque = challenge.value(of: "opaque", in: bytes)
    if let opaque, !Self.isGood(opaque) { return nil }
    let algorithm = challenge.value(of: "algorithm", in: bytes).map { Self.word($0) }
    guard let (hash, isSession) = Self.hash(of: algorithm ?? "md5") else { return nil }
    (self.realm, self.nonce, self.hash, self.isSession) = (realm, nonce, hash, isSession)
    namesHash = algorithm != nil
    if let offer = challenge.value(of: "qop", in: bytes) {
      guard offer.count <= Self.longestValue,
        Self.words(offer, apart: [UInt8(ascii: ","), UInt8(ascii: " ")]).contains(where: { Self.word($0) == "auth" })
      else { return nil }
      hasQuality = true
    } else {
      // Without `qop` there is no number of ours, and a session's key needs one.
      if isSession { return nil }
      hasQuality = false
    }
    isStale = challenge.value(of: "stale", in: bytes).map { Self.word($0) == "true" } ?? false
    hashesUser = challenge.value(of: "userhash", in: bytes).map { Self.word($0) == "true" } ?? false
    domain = Self.paths(challenge.value(of: "domain", in: bytes) ?? [])
  }

  /// Whether it is one nonce of one space, whatever else is said of it.
  package func isSameNonce(as other: DigestChallenge) -> Bool { nonce == other.nonce && isSameSpace(as: other) }

  /// Whether one key fits both.
  package func isSameSpace(as other: DigestChallenge) -> Bool {
    realm == other.realm && hash == other.hash && isSession == other.isSession && domain == other.domain
  }

  /// With a nonce that the server wants used from now on (RFC 7616 section 3.5); nil: it cannot be one.
  package func with(nonce: [UInt8]) -> DigestChallenge? {
    guard !nonce.isEmpty, Self.isGood(nonce) else { return nil }
    return DigestChallenge(self, nonce: nonce)
  }

  private init(_ other: DigestChallenge, nonce: [UInt8]) {
    (realm, opaque, hash, namesHash) = (other.realm, other.opaque, other.hash, other.namesHash)
    (isSession, hasQuality, hashesUser, domain) = (other.isSession, other.hasQuality, other.hashesUser, other.domain)
    self.nonce = nonce
    isStale = false
  }

  /// How many bytes of a target it names as its own; nil: it is not for that.
  package func reach(_ target: Span<UInt8>) -> Int? {
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

  private static func isGood(_ value: [UInt8]) -> Bool {
    value.count <= longestValue && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  private static func hash(of word: String) -> (DigestHash, isSession: Bool)? {
    switch word {
    case "md5": (.md5, false)
    case "md5-sess": (.md5, true)
    case "sha-256": (.sha256, false)
    case "sha-256-sess": (.sha256, true)
    case "sha-512-256": (.sha512Half, false)
    case "sha-512-256-sess": (.sha512Half, true)
    default: nil
    }
  }

  /// In lower case; of more than any of our words has, nothing.
  private static func word(_ bytes: some Collection<UInt8>) -> String {
    guard bytes.count <= 16 else { return "" }
    return String(decoding: bytes.map(ASCII.lowercased), as: UTF8.self)
  }

  /// - Parameter most: so many are told apart, and the rest is one.
  private static func words(_ bytes: [UInt8], apart: [UInt8], most: Int = .max) -> [ArraySlice<UInt8>] {
    bytes.split(maxSplits: most) { apart.contains($0) || $0 == 0x09 }
  }

  /// Absolute URIs of other origins are none of ours: nothing goes there.
  private static func paths(_ domain: [UInt8]) -> [[UInt8]] {
    words(domain, apart: [UInt8(ascii: " ")], most: longestDomain).prefix(longestDomain).filter {
      $0.first == UInt8(ascii: "/") && $0.count <= longestValue
    }.map(Array.init)
  }
}
