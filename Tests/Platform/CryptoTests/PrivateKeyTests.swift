import COpenSSL
import Crypto
import Glibc
import TestSupport
import Testing

@Suite struct PrivateKeyTests {
  @Test(arguments: [TestKey.Kind.rsa2048, .p256, .p384, .p521, .ed25519])
  func `every form of a key is read`(_ kind: TestKey.Kind) throws {
    let key = try TestKey(kind)
    var plain = [try key.pkcs8()], encrypted = [try key.pkcs8("swordfish")]
    if kind != .ed25519 {
      plain.append(try key.traditional())
      encrypted.append(try key.traditional("swordfish"))
    }
    for pem in plain {
      #expect(problem(pem) == nil)
      #expect(problem(String(pem.dropLast())) == nil)
      #expect(problem("Bag Attributes\r\n\(pem.replacing("\n", with: "\r\n"))") == nil)
      // As `openssl ecparam -genkey` writes it.
      #expect(problem(KnownKeys.pem("EC PARAMETERS", "BggqhkjOPQMBBw==") + pem) == nil)
      // The passphrase is not needed.
      #expect(problem(pem, passphrase: "swordfish") == nil)
    }
    for pem in encrypted {
      #expect(problem(pem, passphrase: "swordfish") == nil)
      #expect(problem(pem) == "is encrypted: add passphrase: { file: NAME }")
      for wrong in ["swordfisg", "", String(repeating: "swordfish", count: 1000)] {
        #expect(try #require(problem(pem, passphrase: wrong)).contains("the passphrase is wrong"))
      }
    }
  }

  @Test(arguments: [
    Derivation.pbkdf2(iterations: 600_000), .scrypt(n: 16_384, r: 8, p: 1), .pkcs12(iterations: 2048),
  ])
  func `the usual ways to derive a key from a passphrase are supported`(_ derivation: Derivation) throws {
    let pem = try TestKey(.p256).pkcs8("swordfish", derivation)
    #expect(problem(pem, passphrase: "swordfish") == nil)
    #expect(problem(pem, passphrase: "s") != nil)
  }

  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      Derivation.pbkdf2(iterations: 1_000_000_000), .pbkdf2(iterations: 1_000_001), .pkcs12(iterations: .max),
      .scrypt(n: 1 << 15, r: 1, p: 1 << 15), .scrypt(n: 1 << 13, r: 8, p: 1 << 13),
    ])
  func `a key that would take minutes to decrypt is refused`(_ derivation: Derivation) throws {
    let words = try #require(problem(try derivation.pemWithoutKey(), passphrase: "swordfish"))
    #expect(words.contains("too many iterations"))
  }

  @Test func `a file without a usable key is refused with a message that contains no secret`() throws {
    for text in [
      "", "swordfish", KnownKeys.pem("PRIVATE KEY", "MAAA"), KnownKeys.pem("PUBLIC KEY", "MAAA"),
      KnownKeys.pem("ENCRYPTED PRIVATE KEY", "MAAA"), KnownKeys.pem("OPENSSH PRIVATE KEY", "c3dvcmRmaXNo"),
      String(KnownKeys.rsa.dropLast(60)), KnownKeys.ec.replacing("MHc", with: "M!c"),
      "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: swordfish\n\nMAAA\n-----END EC PRIVATE KEY-----\n",
      String(repeating: "\n", count: 65_536) + KnownKeys.ec,
    ] {
      let words = try #require(problem(text, passphrase: "swordfish"), "\(text.prefix(100))")
      #expect(!words.isEmpty && !words.contains("swordfish"))
    }
  }

  @Test func `a damaged key file does not trap`() throws {
    let encrypted = try TestKey(.p256).pkcs8("swordfish", .pbkdf2(iterations: 1))
    for pem in [KnownKeys.ec, KnownKeys.ecPKCS8, KnownKeys.rsa, encrypted] {
      let bytes = Array(pem.utf8)
      // In the RSA key, only the first bytes contain lengths.
      for index in bytes.indices.prefix(pem == KnownKeys.rsa ? 100 : bytes.count) {
        _ = problem(String(decoding: bytes[..<index], as: UTF8.self), passphrase: "swordfish")
        for byte in [0x41, 0x2F, 0x2D, bytes[index] ^ 1, bytes[index] ^ 0x20] as [UInt8] {
          var changed = bytes
          changed[index] = byte
          _ = problem(String(decoding: changed, as: UTF8.self), passphrase: "swordfish")
        }
      }
    }
  }

  @Test func `no key is read if OpenSSL was used before and cannot wipe its memory`() async {
    await #expect(processExitsWith: .success) {
      EVP_MD_CTX_free(EVP_MD_CTX_new())
      guard problem(KnownKeys.ec)?.contains("cannot be read safely") == true else { exit(1) }
    }
  }
}
