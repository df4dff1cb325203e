internal import COpenSSL

/// The numbers of a private key in PEM, wiped by `deinit`.
package struct PrivateKeyNumbers: ~Copyable {
  package typealias Problem = SigningKey.Problem

  enum Kind {
    /// n, e, d, p, q, dP, dQ, qInv (RFC 8017 appendix A.1.2).
    case rsa
    /// The private number (RFC 5915 section 3), on P-256 or on P-384.
    case p256, p384

    /// Length in bytes of the private number of an EC key.
    var count: Int { self == .p384 ? 48 : 32 }
  }

  let kind: Kind
  private let numbers: [Range<Int>]
  private let bytes: UnsafeMutableRawBufferPointer

  private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
  private static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
  private static let prime256v1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
  private static let secp384r1: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]

  /// - Parameter pem: PKCS #8, PKCS #1 or SEC 1; not encrypted.
  package init(pem: UnsafeRawBufferPointer) throws(Problem) {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, pem.count), alignment: 8)
    do throws(Problem) {
      let block = try PEMBlock(in: pem, decodedInto: bytes)
      (kind, numbers) = try Self.read(block.label, DERReader(UnsafeRawBufferPointer(bytes), 0..<block.count))
    } catch {
      Self.dispose(bytes)
      throw error
    }
    self.bytes = bytes
    // OpenSSL expects the lowest byte first.
    for range in numbers { bytes[range].reverse() }
  }

  deinit { Self.dispose(bytes) }

  /// Passes the numbers to `body`, each in little-endian byte order.
  borrowing func withNumbers<Result>(_ body: ([UnsafeMutableRawBufferPointer]) -> Result) -> Result {
    body(numbers.map { UnsafeMutableRawBufferPointer(rebasing: bytes[$0]) })
  }

  private static func dispose(_ bytes: UnsafeMutableRawBufferPointer) {
    OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    bytes.deallocate()
  }

  private static func read(_ label: PEMBlock.Label, _ der: DERReader) throws(Problem) -> (Kind, [Range<Int>]) {
    switch label {
    case .rsa: return (.rsa, try rsa(der))
    case .ec: return try ec(der, on: nil)
    case .pkcs8:
      // RFC 5208 section 5
      var der = der, whole = try der.enter(.sequence)
      _ = try whole.read(.integer)
      var algorithm = try whole.enter(.sequence)
      let name = try algorithm.read(.identifier)
      let key = try whole.enter(.octets)
      if der.isEqual(name, rsaEncryption) { return (.rsa, try rsa(key)) }
      guard der.isEqual(name, ecPublicKey) else { throw .unsupportedType }
      guard let name = try? algorithm.read(.identifier), let curve = curve(name, in: der) else {
        throw .unsupportedType
      }
      return try ec(key, on: curve)
    }
  }

  private static func rsa(_ der: DERReader) throws(Problem) -> [Range<Int>] {
    var der = der, key = try der.enter(.sequence)
    _ = try key.read(.integer)
    var numbers: [Range<Int>] = []
    for _ in 0..<8 { numbers.append(try key.read(.integer)) }
    return numbers
  }

  /// Parses an EC private key (RFC 5915).
  private static func ec(_ der: DERReader, on curve: Kind?) throws(Problem) -> (Kind, [Range<Int>]) {
    var der = der, key = try der.enter(.sequence), curve = curve
    _ = try key.read(.integer)
    let number = try key.read(.octets)
    if curve == nil, var parameters = try? key.enter(.parameters), let name = try? parameters.read(.identifier) {
      curve = Self.curve(name, in: der)
    }
    guard let curve else { throw .unsupportedType }
    guard number.count == curve.count else { throw .malformed }
    return (curve, [number])
  }

  private static func curve(_ name: Range<Int>, in der: DERReader) -> Kind? {
    if der.isEqual(name, prime256v1) { return .p256 }
    return der.isEqual(name, secp384r1) ? .p384 : nil
  }
}

extension SigningKey.Problem {
  static var noPEM: Self {
    Self(words: "is not a private key in PEM, or is encrypted: \"openssl pkey -in FILE\" writes it in the right form")
  }
  static var malformed: Self { Self(words: "is a damaged private key") }
  package static var unsupportedType: Self { Self(words: "is neither an RSA key nor an EC key on the curve P-256") }
}
