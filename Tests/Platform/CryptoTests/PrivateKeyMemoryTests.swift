import Crypto
import Glibc
import TestSupport
import Testing

/// Searches the memory of the process for parts of a private key.
@Suite struct PrivateKeyMemoryTests {
  /// A key as PEM, with parts of it that must not stay in memory.
  struct Sample: Codable, Sendable, CustomTestStringConvertible {
    let testDescription: String
    let pem: String
    /// Some bytes of the private number, with all bits inverted.
    let number: [UInt8]
    /// Some base64 of the private number in `pem`, in `rot13`; empty if the PEM is encrypted.
    let base64: String

    init(_ name: String, _ pem: String, _ number: [UInt8], base64: String = "") {
      (testDescription, self.pem, self.number, self.base64) = (name, pem, number, base64)
    }
  }

  private static func samples() throws -> [Sample] {
    let ec: [UInt8] = [0x71, 0x64, 0xEF, 0x61, 0x8E, 0x6F, 0x67, 0x40, 0x67, 0xFB, 0x78, 0x20]
    let rsa: [UInt8] = [0xED, 0x51, 0x8E, 0x5B, 0x96, 0x32, 0xF5, 0xD4, 0x3C, 0x81, 0xAD, 0x93]
    let ed25519: [UInt8] = [0x62, 0x9E, 0x4E, 0x62, 0x10, 0x02, 0xA5, 0x9F, 0x45, 0x7B, 0xB5, 0x0B]
    let key = try TestKey(pem: KnownKeys.ec)
    return [
      Sample("SEC 1", KnownKeys.ec, ec, base64: "RW5kxWv/zNFU3k9qq+aYXJOhigVzB19KjuCs"),
      Sample("PKCS #8", KnownKeys.ecPKCS8, ec, base64: "wcfDaaTDzY+LOVss"),
      Sample("PKCS #8, encrypted", try key.pkcs8("swordfish"), ec),
      Sample("SEC 1, encrypted", try key.traditional("swordfish"), ec),
      Sample("RSA in PKCS #1", KnownKeys.rsaPKCS1, rsa, base64: "mDbej35F"),
      Sample("RSA in PKCS #8", KnownKeys.rsa, rsa, base64: "cTaAPviQsyWfEDOKUk1uqE1x6Hyjr2WMQ50Y"),
      Sample("Ed25519", KnownKeys.ed25519, ed25519, base64: "fM3i/IcthbEX9WYfYZERFpIcrmWcTKN7eNZp"),
    ]
  }

  @Test(.enabled(if: !isSanitized), arguments: try samples())
  func `a private key leaves no copy in memory`(_ sample: Sample) async {
    await #expect(processExitsWith: .success) { [sample = sample as Sample] in
      // OpenSSL stores numbers with the lowest byte first.
      func numbers() -> Int {
        [sample.number, sample.number.reversed()].map { occurrences(of: $0) { ~$0 } }.reduce(0, +)
      }
      func texts() -> Int { sample.base64.isEmpty ? 0 : occurrences(of: sample.base64) }
      let (pem, passphrase) = (Array(sample.pem.utf8), Array("swordfish".utf8))
      let before = texts()
      // The exit code is the number of copies that are too many.
      func check(_ expected: Int) {
        let excess = numbers() - expected + max(0, texts() - before)
        if excess != 0 { exit(Int32(excess)) }
      }
      for _ in 0..<3 {
        let key = try pem.span.withUnsafeBytes { (pem) throws(PrivateKey.Problem) in
          try passphrase.span.withUnsafeBytes { (passphrase) throws(PrivateKey.Problem) in
            try SigningKey(pem: pem, passphrase: passphrase)
          }
        }
        check(1)
        guard try !signature(key, "message").isEmpty else { exit(-1) }
        check(1)
        _ = consume key
        check(0)
      }
    }
  }
}
