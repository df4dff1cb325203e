internal import COpenSSL

/// The numbers of a private key's PEM, taken apart by us: OpenSSL's own readers leave copies of them in memory that they give
/// back. What stands here is wiped when it ends.
package struct PrivateKeyNumbers: ~Copyable {
  package typealias Problem = SigningKey.Problem

  enum Kind {
    /// n, e, d, p, q, dP, dQ, qInv (RFC 8017 appendix A.1.2).
    case rsa
    /// The private one (RFC 5915 section 3), on P-256 or on P-384.
    case p256, p384

    /// Bytes of it.
    var count: Int { self == .p384 ? 48 : 32 }
  }

  let kind: Kind
  /// Places in `bytes`.
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
    // As OpenSSL takes numbers: the lowest byte first
    for range in numbers { bytes[range].reverse() }
  }

  deinit { Self.dispose(bytes) }

  /// Lends the numbers, the lowest byte first.
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
      _ = try whole.take(.integer)
      var algorithm = try whole.enter(.sequence)
      let name = try algorithm.take(.identifier)
      let key = try whole.enter(.octets)
      if der.isEqual(name, rsaEncryption) { return (.rsa, try rsa(key)) }
      guard der.isEqual(name, ecPublicKey) else { throw .otherKind }
      guard let name = try? algorithm.take(.identifier), let curve = curve(name, in: der) else { throw .otherKind }
      return try ec(key, on: curve)
    }
  }

  private static func rsa(_ der: DERReader) throws(Problem) -> [Range<Int>] {
    var der = der, key = try der.enter(.sequence)
    _ = try key.take(.integer)
    var numbers: [Range<Int>] = []
    for _ in 0..<8 { numbers.append(try key.take(.integer)) }
    return numbers
  }

  /// - Parameter curve: nil: it says so itself.
  private static func ec(_ der: DERReader, on curve: Kind?) throws(Problem) -> (Kind, [Range<Int>]) {
    var der = der, key = try der.enter(.sequence), curve = curve
    _ = try key.take(.integer)
    let number = try key.take(.octets)
    if curve == nil, var parameters = try? key.enter(.parameters), let name = try? parameters.take(.identifier) {
      curve = Self.curve(name, in: der)
    }
    guard let curve else { throw .otherKind }
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
  package static var otherKind: Self { Self(words: "is neither an RSA key nor an EC key on the curve P-256") }
}
