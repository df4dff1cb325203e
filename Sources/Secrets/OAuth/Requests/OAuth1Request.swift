internal import Credentials
internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// Renders the signed requests of a login with OAuth 1.0 (RFC 5849 sections 2.1 and 2.3).
struct OAuth1Request {
  let source: TokenSource
  let login: OAuth1Login
  let secrets: TokenSecrets
  /// Seconds since 1970.
  let now: Int64
  let arena: SecretArena

  /// The keys of the signature and the verifier, in this order, one after another.
  private struct Keys: ~Copyable {
    var bytes: Secret
    var ends: [Int] = []
  }

  func render(_ purpose: TokenRequest.Purpose) throws(SecretProblem) -> TokenRequest {
    guard let endpoint = source.endpoint(for: purpose) else {
      throw SecretProblem("the configuration of \(source.credential) has no endpoint for this")
    }
    do {
      let keys = try keys(for: purpose)
      let line = try keys.bytes.withBytes { (bytes) throws(SystemError) -> Secret? in
        var start = 0
        let parts = keys.ends.map { end in
          defer { start = end }
          return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        }
        let parameter: OAuth1Signature.LoginParameter =
          if case .requestToken(let callback) = purpose { .callback(callback) } else { .verifier(parts[4]) }
        let signature = OAuth1Signature(
          client: login.client, stamp: OAuth1Signature.Stamp(now: now), arena: arena, loginParameter: parameter)
        return try Array("POST".utf8).span.withUnsafeBytes { (method) throws(SystemError) in
          try endpoint.target.span.withUnsafeBytes { (target) throws(SystemError) in
            try signature.line(
              method: method, origin: endpoint.origin.description, target: target,
              form: UnsafeRawBufferPointer(start: nil, count: 0),
              keys: OAuth1Signature.Keys(
                consumer: parts[0], consumerSecret: parts[1], token: parts[2], tokenSecret: parts[3]))
          }
        }
      }
      var bytes = try Secret(capacity: 2048, in: arena)
      try bytes.append("POST \(String(decoding: endpoint.target, as: UTF8.self)) HTTP/1.1\r\n")
      try bytes.append("Host: \(endpoint.origin.authority)\r\n")
      switch line {
      case .some(let line): try line.withBytes { (line) throws(SystemError) in try bytes.append(line) }
      case .none: throw SecretProblem("OpenSSL cannot sign a request for \(source.credential)")
      }
      try bytes.append("Accept: application/x-www-form-urlencoded, */*;q=0.5\r\n")
      try bytes.append("Accept-Encoding: identity\r\nUser-Agent: bearerd\r\nContent-Length: 0\r\n")
      try bytes.append("Connection: close\r\n\r\n")
      return TokenRequest(endpoint: endpoint, trust: source.trust, bytes: bytes)
    } catch {
      throw .noMemory(unless: error)
    }
  }

  private func keys(for purpose: TokenRequest.Purpose) throws -> Keys {
    var keys = Keys(bytes: try Secret(capacity: 1024, in: arena))
    switch login.client.consumerKey {
    case .plain(let text): try keys.bytes.append(text)
    case .secret: try add(.consumerKey, to: &keys.bytes)
    }
    keys.ends.append(keys.bytes.count)
    switch login.client.proof {
    case .secret: try add(.clientSecret, to: &keys.bytes)
    case .privateKey(let key): try addDER(of: key, to: &keys.bytes)
    }
    keys.ends.append(keys.bytes.count)
    let isExchange = purpose == .oauth1Token
    for role in [TokenSecrets.Role.requestToken, .requestTokenSecret, .verifier] {
      if isExchange { try add(role, to: &keys.bytes) }
      keys.ends.append(keys.bytes.count)
    }
    return keys
  }

  private func add(_ role: TokenSecrets.Role, to keys: inout Secret) throws {
    let added: Void? = try secrets.withBytes(of: role) { (bytes) throws(SystemError) in try keys.append(bytes) }
    guard added != nil else { throw SecretProblem.missing(role, of: source) }
  }

  private func addDER(of source: SigningKeySource, to keys: inout Secret) throws {
    let read: Void? = try secrets.withBytes(of: .clientKey) { (pem) throws(SecretProblem) in
      guard source.passphrase != nil else { return try keys.append(rsaKey: pem, name: source.source.name) }
      let read: Void? = try secrets.withBytes(of: .passphrase) { (passphrase) throws(SecretProblem) in
        try keys.append(rsaKey: pem, passphrase: passphrase, name: source.source.name)
      }
      guard read != nil else { throw SecretProblem.missing(.passphrase, of: self.source) }
    }
    guard read != nil else { throw SecretProblem.missing(.clientKey, of: self.source) }
  }
}
