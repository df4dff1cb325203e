internal import Crypto
package import Policy
@_spi(SecretBytes) package import Secrets
package import System

/// The answer of one request to a server of Digest (RFC 7616 section 3.4). All that is computed of the password lies in locked
/// memory, or is wiped where it lay.
package struct DigestAnswer {
  let challenge: DigestChallenge
  /// As they stand in the request's first line.
  let method: UnsafeRawBufferPointer
  let target: UnsafeRawBufferPointer
  /// How often the nonce has been used, with this time.
  let count: UInt32
  /// The client's nonce (`cnonce`): visible characters, none of which has to be quoted.
  let number: [UInt8]
  private let arena: SecretArena

  /// - Parameters:
  ///   - method: with `target` borrowed for the time of this value.
  ///   - count: of the uses of the nonce, with this one.
  ///   - number: a fresh one of ours; of a session, the one of its key.
  package init(
    challenge: DigestChallenge, method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, count: UInt32,
    number: [UInt8], in arena: SecretArena
  ) {
    (self.challenge, self.method, self.target) = (challenge, method, target)
    (self.count, self.number, self.arena) = (count, number, arena)
  }

  /// OpenSSL does not compute what is asked for.
  static let failure = SystemError(operation: "EVP_Digest", errno: 0)

  /// H(A1) as hexadecimal digits: all that is kept of a password, beside itself. Of a session's, what its nonce and number
  /// make of that.
  /// - Parameter pair: the user's name, a colon, the password.
  package static func key(
    of pair: borrowing Secret, for challenge: DigestChallenge, number: [UInt8], in arena: SecretArena
  ) throws(SystemError) -> Secret {
    let colon = pair.colon
    var key = try Secret(capacity: 2 * challenge.hash.size, in: arena)
    try key.append(challenge.hash) { digest in
      pair.withBytes { pair in
        digest.add(UnsafeRawBufferPointer(rebasing: pair[..<colon]))
        digest.addColon()
        digest.add(challenge.realm)
        digest.add(UnsafeRawBufferPointer(rebasing: pair[colon...]))
      }
    }
    guard challenge.isSession else { return key }
    var session = try Secret(capacity: 2 * challenge.hash.size, in: arena)
    try session.append(challenge.hash) { digest in
      key.withBytes { digest.add($0) }
      digest.addColon()
      digest.add(challenge.nonce)
      digest.addColon()
      digest.add(number)
    }
    return session
  }

  /// Appends the whole line.
  package func append(key: borrowing Secret, pair: borrowing Secret, to line: inout Secret) throws(SystemError) {
    try line.append("Authorization: Digest username=\"")
    try appendUser(pair, to: &line)
    try line.append("\", realm=\"")
    try line.append(quoting: challenge.realm)
    try line.append("\", nonce=\"")
    try line.append(quoting: challenge.nonce)
    try line.append("\", uri=\"")
    try line.append(quoting: target)
    try line.append("\", response=\"")
    try appendResponse(key, to: &line)
    try line.append("\"")
    if challenge.namesHash {
      try line.append(", algorithm=\(challenge.hash.rawValue)\(challenge.isSession ? "-sess" : "")")
    }
    if challenge.hasQuality {
      try line.append(", qop=auth, nc=\(countText), cnonce=\"")
      try line.append(quoting: number)
      try line.append("\"")
    }
    if let opaque = challenge.opaque {
      try line.append(", opaque=\"")
      try line.append(quoting: opaque)
      try line.append("\"")
    }
    if challenge.hashesUser { try line.append(", userhash=true") }
    try line.append("\r\n")
  }

  /// Section 3.4.4: the name, or what hides it.
  private func appendUser(_ pair: borrowing Secret, to line: inout Secret) throws(SystemError) {
    let colon = pair.colon
    guard challenge.hashesUser else {
      return try pair.withBytes { (pair) throws(SystemError) in
        try line.append(quoting: UnsafeRawBufferPointer(rebasing: pair[..<colon]))
      }
    }
    try line.append(challenge.hash) { digest in
      pair.withBytes { digest.add(UnsafeRawBufferPointer(rebasing: $0[..<colon])) }
      digest.addColon()
      digest.add(challenge.realm)
    }
  }

  /// Section 3.4.1; without `qop` as RFC 2069 section 2.1.2 has it.
  private func appendResponse(_ key: borrowing Secret, to line: inout Secret) throws(SystemError) {
    var request = try Secret(capacity: 2 * challenge.hash.size, in: arena)
    try request.append(challenge.hash) { digest in
      digest.add(method)
      digest.addColon()
      digest.add(target)
    }
    try line.append(challenge.hash) { digest in
      key.withBytes { digest.add($0) }
      digest.addColon()
      digest.add(challenge.nonce)
      digest.addColon()
      if challenge.hasQuality {
        digest.add(Array(countText.utf8))
        digest.addColon()
        digest.add(number)
        digest.addColon()
        digest.add(Array("auth".utf8))
        digest.addColon()
      }
      request.withBytes { digest.add($0) }
    }
  }

  /// Eight hexadecimal digits.
  private var countText: String {
    let digits = String(count, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}

extension Secret {
  /// The place in a pair where the user's name ends.
  fileprivate var colon: Int { withBytes { $0.firstIndex(of: UInt8(ascii: ":")) ?? $0.count } }

  /// A digest as lower-case hexadecimal digits. Wiped where it lay.
  fileprivate mutating func append(
    _ hash: DigestHash, _ write: (inout MessageDigest) -> Void
  ) throws(SystemError) {
    guard var digest = MessageDigest(hash) else { throw DigestAnswer.failure }
    write(&digest)
    // As large as the largest.
    var place: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    let isDone = withUnsafeMutableBytes(of: &place) { digest.finish(into: $0) }
    defer { withUnsafeMutableBytes(of: &place) { wipe($0) } }
    guard isDone else { throw DigestAnswer.failure }
    try withUnsafeBytes(of: &place) { (bytes) throws(SystemError) in
      for byte in bytes.prefix(hash.size) { try append(hexadecimal: byte) }
    }
  }

  /// Between quotation marks (RFC 9110 section 5.6.4).
  fileprivate mutating func append(quoting bytes: some Sequence<UInt8>) throws(SystemError) {
    for byte in bytes {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { try append(UInt8(ascii: "\\")) }
      try append(byte)
    }
  }
}

extension MessageDigest {
  fileprivate mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

  fileprivate mutating func addColon() { add([UInt8(ascii: ":")]) }
}
