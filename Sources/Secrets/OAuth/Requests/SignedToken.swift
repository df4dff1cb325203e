@_spi(SecretBytes) internal import Secrets
internal import Crypto
internal import Settings
internal import System

/// A JSON Web Token that bearerd signs (RFC 7519, RFC 7523 section 3), as a grant or for client authentication.
struct SignedToken {
  var issuer: String
  /// The `sub` and `aud` claims; `nil` to send none.
  var subject: String?
  var audience: String?
  var claims: [TokenParameter] = []
  var keyIdentifier: String?
  /// The token's unique ID (`jti`); `nil` to send none.
  var identifier: String?
  /// Time of issue (`iat`), in seconds since 1970.
  var issued: Int64

  /// Lifetime in seconds.
  static let lifetime: Int64 = 240

  /// Signs the token with a private key.
  /// - Parameters:
  ///   - pem: the private key.
  ///   - passphrase: the passphrase of an encrypted key.
  ///   - name: the name of the key's source, for error messages.
  func sign(
    pem: UnsafeRawBufferPointer, passphrase: UnsafeRawBufferPointer? = nil, name: String, in arena: SecretArena
  ) throws(SecretProblem) -> Secret {
    do {
      let key = try SigningKey(pem: pem, passphrase: passphrase)
      var token = try Secret(capacity: 1024, in: arena)
      try token.appendBase64URL(header(key.algorithm).utf8)
      try token.append(UInt8(ascii: "."))
      try token.appendBase64URL(payload.utf8)
      var signature = try Secret(capacity: 1024, in: arena)
      let isSigned = try token.withBytes { (message) throws(SystemError) in
        try key.withSignature(of: message) { (bytes) throws(SystemError) in try signature.appendBase64URL(bytes) }
      }
      guard isSigned else { throw SecretProblem("OpenSSL cannot sign with \(name)") }
      try token.append(UInt8(ascii: "."))
      try signature.withBytes { (bytes) throws(SystemError) in try token.append(bytes) }
      return token
    } catch let problem as PrivateKey.Problem {
      throw SecretProblem("\(name) \(problem.words)")
    } catch let problem as SecretProblem {
      throw problem
    } catch {
      throw SecretProblem("cannot allocate memory for secrets")
    }
  }

  private func header(_ algorithm: SigningKey.Algorithm) -> String {
    let identifier = keyIdentifier.map { ",\"kid\":\(Self.quoted($0))" } ?? ""
    return "{\"alg\":\"\(algorithm.rawValue)\",\"typ\":\"JWT\"\(identifier)}"
  }

  private var payload: String {
    let (end, overflows) = issued.addingReportingOverflow(Self.lifetime)
    var text = "{\"iss\":\(Self.quoted(issuer))"
    if let subject { text += ",\"sub\":\(Self.quoted(subject))" }
    if let audience { text += ",\"aud\":\(Self.quoted(audience))" }
    text += ",\"iat\":\(issued),\"exp\":\(overflows ? .max : end)"
    if let identifier { text += ",\"jti\":\(Self.quoted(identifier))" }
    for claim in claims { text += ",\(Self.quoted(claim.name)):\(Self.quoted(claim.value))" }
    return text + "}"
  }

  /// Returns a JSON string (RFC 8259 section 7).
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        quoted += "\\"
        quoted.unicodeScalars.append(scalar)
      case "\u{0}"..."\u{1F}":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
