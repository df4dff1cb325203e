@_spi(SecretBytes) package import Secrets
internal import Crypto
internal import Primitives
package import Settings
package import System

/// Signs one request with OAuth 1.0 (RFC 5849).
package struct OAuth1Signature {
  /// The timestamp and nonce, which make each request unique (RFC 5849 section 3.3).
  package struct Stamp {
    /// Seconds since 1970.
    package let timestamp: Int64
    package let nonce: String
  }

  /// The client's key and secrets, of which `token` and `tokenSecret` may be empty.
  package struct Keys {
    let consumer: UnsafeRawBufferPointer
    /// The consumer secret, or for RSA-SHA1 the private key in DER.
    let consumerSecret: UnsafeRawBufferPointer
    let token: UnsafeRawBufferPointer
    let tokenSecret: UnsafeRawBufferPointer

    package init(
      consumer: UnsafeRawBufferPointer, consumerSecret: UnsafeRawBufferPointer, token: UnsafeRawBufferPointer,
      tokenSecret: UnsafeRawBufferPointer
    ) {
      self.consumer = consumer
      self.consumerSecret = consumerSecret
      self.token = token
      self.tokenSecret = tokenSecret
    }
  }

  /// An additional parameter of a request that a login sends.
  package enum LoginParameter {
    /// Where the browser returns (RFC 5849 section 2.1).
    case callback(String)
    /// What the browser brought (RFC 5849 section 2.3).
    case verifier(UnsafeRawBufferPointer)
  }

  let client: OAuth1Client
  let stamp: Stamp
  let arena: SecretArena
  private let loginParameter: LoginParameter?

  package init(client: OAuth1Client, stamp: Stamp, arena: SecretArena, loginParameter: LoginParameter? = nil) {
    (self.client, self.stamp, self.arena, self.loginParameter) = (client, stamp, arena, loginParameter)
  }

  /// Returns the line `Authorization: OAuth …` with its CRLF; `nil` if OpenSSL fails.
  /// - Parameters:
  ///   - origin: scheme, host and port in lowercase, without the default port (RFC 5849 section 3.4.1.2).
  ///   - target: the path and query as sent.
  ///   - form: the bytes of a form body; empty if there is none.
  package func line(
    method: UnsafeRawBufferPointer, origin: String, target: UnsafeRawBufferPointer, form: UnsafeRawBufferPointer,
    keys: Keys
  ) throws(SystemError) -> Secret? {
    var signature = try Secret(capacity: 64, in: arena)
    if client.method == .plaintext {
      let key = try sharedKey(keys)
      try key.withBytes { (key) throws(SystemError) in try signature.append(key) }
    } else {
      let base = try base(method: method, origin: origin, target: target, form: form, keys: keys)
      guard let proof = try proof(of: base, keys) else { return nil }
      try proof.span.withUnsafeBytes { (proof) throws(SystemError) in try signature.append(base64: proof) }
    }
    return try line(signature, keys)
  }

  /// Returns both secrets as one key (RFC 5849 section 3.4.2).
  private func sharedKey(_ keys: Keys) throws(SystemError) -> Secret {
    var key = try Secret(capacity: 256, in: arena)
    try key.append(escaped: keys.consumerSecret)
    try key.append(UInt8(ascii: "&"))
    try key.append(escaped: keys.tokenSecret)
    return key
  }

  /// Returns the HMAC or the RSA signature of the base string; `nil` if OpenSSL fails.
  private func proof(of base: borrowing Secret, _ keys: Keys) throws(SystemError) -> [UInt8]? {
    if client.method == .rsaSHA1 {
      // Decoded for each request, so that between requests the key is only in locked memory.
      guard let key = try? RSASigningKey(der: keys.consumerSecret) else { return nil }
      return base.withBytes { key.sha1Signature(of: $0) }
    }
    let key = try sharedKey(keys)
    return base.withBytes { base in
      key.withBytes { client.method == .hmacSHA256 ? keyedDigest(of: base, key: $0) : hmacSHA1(of: base, key: $0) }
    }
  }

  /// Returns the `Authorization` line with the given signature (RFC 5849 section 3.5.1).
  private func line(_ signature: borrowing Secret, _ keys: Keys) throws(SystemError) -> Secret {
    var line = try Secret(capacity: 512, in: arena)
    try line.append("Authorization: OAuth ")
    if let realm = client.realm { try line.append("realm=\"\(realm)\", ") }
    for (name, value) in protocolParameters {
      try line.append("\(name)=\"")
      switch value {
      case .consumer: try line.append(escaped: keys.consumer)
      case .token: try line.append(escaped: keys.token)
      case .bytes(let bytes): try line.append(escaped: bytes)
      case .text(let text): try line.append(escaped: text)
      }
      try line.append("\", ")
    }
    try line.append("oauth_signature=\"")
    try signature.withBytes { (bytes) throws(SystemError) in try line.append(escaped: bytes) }
    try line.append("\"\r\n")
    return line
  }

  private enum Value { case consumer, token, bytes(UnsafeRawBufferPointer), text(String) }

  /// The protocol parameters except the signature, sorted by name.
  private var protocolParameters: [(name: String, value: Value)] {
    var parameters: [(name: String, value: Value)] = [
      ("oauth_consumer_key", .consumer), ("oauth_nonce", .text(stamp.nonce)),
      ("oauth_signature_method", .text(client.method.rawValue)), ("oauth_timestamp", .text(String(stamp.timestamp))),
    ]
    var hasToken = client.token != nil
    switch loginParameter {
    case .callback(let uri): parameters.insert(("oauth_callback", .text(uri)), at: 0)
    case .verifier: hasToken = true
    case nil: break
    }
    if hasToken { parameters.append(("oauth_token", .token)) }
    if case .verifier(let verifier) = loginParameter { parameters.append(("oauth_verifier", .bytes(verifier))) }
    if client.sendsVersion { parameters.append(("oauth_version", .text("1.0"))) }
    return parameters
  }

  /// Returns the signature base string (RFC 5849 section 3.4.1.1).
  func base(
    method: UnsafeRawBufferPointer, origin: String, target: UnsafeRawBufferPointer, form: UnsafeRawBufferPointer,
    keys: Keys
  ) throws(SystemError) -> Secret {
    let path = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
    var list = try ParameterList(in: arena)
    if path < target.count { try list.add(UnsafeRawBufferPointer(rebasing: target[(path + 1)...])) }
    try list.add(form)
    for (name, value) in protocolParameters {
      switch value {
      case .consumer: try list.add(name, keys.consumer)
      case .token: try list.add(name, keys.token)
      case .bytes(let bytes): try list.add(name, bytes)
      case .text(let text):
        let bytes = Array(text.utf8)
        try bytes.span.withUnsafeBytes { (bytes) throws(SystemError) in try list.add(name, bytes) }
      }
    }
    var base = try Secret(capacity: 1024, in: arena)
    try base.append(method)
    try base.append("&")
    try base.append(escaped: origin)
    try base.append(escaped: UnsafeRawBufferPointer(rebasing: target[..<path]))
    try base.append("&")
    try list.withNormalised { (all) throws(SystemError) in try base.append(escaped: all) }
    return base
  }
}

extension OAuth1Signature.Stamp {
  /// Creates a stamp with a random nonce.
  /// - Parameter now: seconds since 1970.
  package init(now: Int64) {
    var random = SystemRandomNumberGenerator()
    let numbers = [random.next() as UInt64, random.next() as UInt64]
    nonce = numbers.map { String(String($0 | 1 << 63, radix: 16).suffix(16)) }.joined()
    timestamp = now
  }
}

extension Secret {
  /// Appends the private key of `OAuth1Signature.Keys.consumerSecret`, in DER.
  /// - Parameters:
  ///   - pem: the private key.
  ///   - passphrase: the passphrase of an encrypted key.
  ///   - name: the name of the key's source, for error messages.
  package mutating func append(
    rsaKey pem: UnsafeRawBufferPointer, passphrase: UnsafeRawBufferPointer? = nil, name: String
  ) throws(SecretProblem) {
    var isWritten = false
    do {
      let key = try RSASigningKey(pem: pem, passphrase: passphrase)
      isWritten = try key.withDER { (der) throws(SystemError) in try append(der) }
    } catch let problem as PrivateKey.Problem {
      throw SecretProblem("\(name) \(problem.words)")
    } catch {
      throw SecretProblem("cannot allocate memory for secrets", isTransient: true)
    }
    guard isWritten else { throw SecretProblem("OpenSSL cannot use \(name)") }
  }

  mutating func append(escaped text: String) throws(SystemError) {
    let bytes = Array(text.utf8)
    try bytes.span.withUnsafeBytes { (bytes) throws(SystemError) in try append(escaped: bytes) }
  }

  /// Appends percent-encoded bytes (RFC 5849 section 3.6).
  mutating func append(escaped bytes: UnsafeRawBufferPointer) throws(SystemError) {
    for byte in bytes { try append(escaped: byte) }
  }

  mutating func append(escaped byte: UInt8) throws(SystemError) {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      try append(byte)
    default:
      try append(UInt8(ascii: "%"))
      try append(ASCII.uppercaseHexDigit(byte >> 4))
      try append(ASCII.uppercaseHexDigit(byte))
    }
  }
}
