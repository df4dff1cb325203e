internal import Crypto
package import Policy
@_spi(SecretBytes) package import Secrets
package import System

/// Computes the `Authorization` line of one request for a Digest challenge (RFC 7616 section 3.4).
package struct DigestResponse {
  let challenge: DigestChallenge
  /// The method and target exactly as in the request line.
  let method: UnsafeRawBufferPointer
  let target: UnsafeRawBufferPointer
  /// Number of uses of the nonce (`nc`), including this request.
  let count: UInt32
  /// The client's nonce (`cnonce`), in visible characters that need no quoting.
  let clientNonce: [UInt8]
  private let arena: SecretArena

  /// `method` and `target` must stay valid for the lifetime of this value.
  /// - Parameter clientNonce: a new random nonce; with a `-sess` algorithm, the nonce from which H(A1) was computed.
  package init(
    challenge: DigestChallenge, method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, count: UInt32,
    clientNonce: [UInt8], in arena: SecretArena
  ) {
    (self.challenge, self.method, self.target) = (challenge, method, target)
    (self.count, self.clientNonce, self.arena) = (count, clientNonce, arena)
  }

  static let failure = SystemError(operation: "EVP_Digest", errno: 0)

  /// Computes H(A1) in hexadecimal digits (RFC 7616 section 3.4.2).
  /// - Parameter pair: `user:password`.
  package static func key(
    of pair: borrowing Secret, for challenge: DigestChallenge, clientNonce: [UInt8], in arena: SecretArena
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
      digest.add(clientNonce)
    }
    return session
  }

  /// Appends the complete `Authorization` line. `key` is H(A1), and `pair` is `user:password`.
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
    if challenge.hasAlgorithm {
      try line.append(", algorithm=\(challenge.hash.rawValue)\(challenge.isSession ? "-sess" : "")")
    }
    if challenge.hasQOP {
      try line.append(", qop=auth, nc=\(countText), cnonce=\"")
      try line.append(quoting: clientNonce)
      try line.append("\"")
    }
    if let opaque = challenge.opaque {
      try line.append(", opaque=\"")
      try line.append(quoting: opaque)
      try line.append("\"")
    }
    if challenge.hashesUserName { try line.append(", userhash=true") }
    try line.append("\r\n")
  }

  /// Appends the user name or its hash (RFC 7616 section 3.4.4).
  private func appendUser(_ pair: borrowing Secret, to line: inout Secret) throws(SystemError) {
    let colon = pair.colon
    guard challenge.hashesUserName else {
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

  /// Appends the value of `response` (RFC 7616 section 3.4.1).
  private func appendResponse(_ key: borrowing Secret, to line: inout Secret) throws(SystemError) {
    // Without `qop`, the value follows RFC 2069 section 2.1.2.
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
      if challenge.hasQOP {
        digest.add(Array(countText.utf8))
        digest.addColon()
        digest.add(clientNonce)
        digest.addColon()
        digest.add(Array("auth".utf8))
        digest.addColon()
      }
      request.withBytes { digest.add($0) }
    }
  }

  private var countText: String {
    let digits = String(count, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}

extension Secret {
  fileprivate var colon: Int { withBytes { $0.firstIndex(of: UInt8(ascii: ":")) ?? $0.count } }

  /// Appends the digest of the bytes that `write` adds, in lowercase hexadecimal digits.
  fileprivate mutating func append(
    _ hash: DigestHash, _ write: (inout MessageDigest) -> Void
  ) throws(SystemError) {
    guard var digest = MessageDigest(hash) else { throw DigestResponse.failure }
    write(&digest)
    // The size of the largest digest.
    var buffer: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    let isComputed = withUnsafeMutableBytes(of: &buffer) { digest.finish(into: $0) }
    defer { withUnsafeMutableBytes(of: &buffer) { wipe($0) } }
    guard isComputed else { throw DigestResponse.failure }
    try withUnsafeBytes(of: &buffer) { (bytes) throws(SystemError) in
      for byte in bytes.prefix(hash.size) { try append(hexadecimal: byte) }
    }
  }

  /// Appends the content of a quoted string, with escapes (RFC 9110 section 5.6.4).
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
