import TestServer
import Glibc
import Policy
import TLS
import TestSupport
import Testing

/// Certificates and trust stores from files.
@Suite struct CertificateFileTests {
  /// A certificate with the key of RFC 8032 section 7.1, test 1.
  private let knownCertificate = """
    -----BEGIN CERTIFICATE-----
    MIIBJzCB2qADAgECAgEBMAUGAytlcDASMRAwDgYDVQQDDAdyZmM4MDMyMCAXDTI2
    MTEyMTA1NTMyOVoYDzIxMjYxMDI4MDU1MzI5WjASMRAwDgYDVQQDDAdyZmM4MDMy
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURqjUzBR
    MB0GA1UdDgQWBBRbJ6pViReXcOR1dbFiod7Ze4v8bTAfBgNVHSMEGDAWgBRbJ6pV
    iReXcOR1dbFiod7Ze4v8bTAPBgNVHRMBAf8EBTADAQH/MAUGAytlcANBAI+aCPWD
    enKTSkE+NPnhd/v9tWfJwADivoxya2WoVMtSYht02mU1PdxSFKjiOXET1aa+7SfD
    p4Q1t1Azh8iY8wQ=
    -----END CERTIFICATE-----

    """

  @Test func `a certificate's pin matches the pin that openssl computes`() throws {
    let descriptions = try Certificates.describe(file: Array(knownCertificate.utf8))
    let known = try #require(descriptions.first)
    #expect(known.pin.description == "sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=")
    #expect(known.subject == "CN=rfc8032")
    #expect(known.issuer == "CN=rfc8032")
    #expect(known.role == .root)
    #expect(known.key == "ED25519")
    #expect(known.notAfter == 4_948_840_409)
  }

  @Test func `the certificates of a file are described in order, with keys and roles`() throws {
    let authority = try Authority()
    let leaf = try authority.leaf { $0.key = .rsa2048 }
    let file = "leaf\n" + leaf.pem + "\nthen\n" + authority.intermediate.pem + authority.root.pem
    let descriptions = try Certificates.describe(file: Array(file.utf8))
    #expect(descriptions.map(\.role) == [.leaf, .intermediate, .root])
    #expect(descriptions.map(\.key) == ["RSA 2048", "EC prime256v1", "EC prime256v1"])
    #expect(descriptions.map(\.pin.description) == [leaf.pin, authority.intermediate.pin, authority.root.pin])
    #expect(descriptions[0].issuer == "CN=Test Intermediate")
  }

  @Test func `a session describes its verified chain, including the root`() throws {
    let authority = try Authority()
    let leaf = try authority.leaf()
    let server = try UpstreamServer(chain: [leaf, authority.intermediate], handler: echo)
    defer { server.stop() }
    var client = try Client.connect(try context(authority.store()), port: server.port)
    let chain = client.session.verifiedChain
    #expect(chain.map(\.role) == [.leaf, .intermediate, .root])
    #expect(chain.map(\.pin.description) == [leaf.pin, authority.intermediate.pin, authority.root.pin])
    client.closeNotify()
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: String
    let file: @Sendable (Certificate) -> String
  }

  static let bad: [Bad] = [
    Bad(testDescription: "empty", reason: "no certificate") { _ in "" },
    Bad(testDescription: "text", reason: "no certificate") { _ in "hello\n" },
    Bad(testDescription: "a key", reason: "private key") { $0.keyPEM },
    Bad(testDescription: "a key after the certificate", reason: "private key") { $0.pem + $0.keyPEM },
    Bad(testDescription: "cut", reason: "cannot be read") { String($0.pem.dropLast(40)) },
    Bad(testDescription: "second one cut", reason: "cannot be read") { $0.pem + String($0.pem.dropLast(60)) },
    Bad(testDescription: "second one without an end", reason: "cannot be read") {
      $0.pem + "-----BEGIN CERTIFICATE-----\n"
    },
    Bad(testDescription: "not base64", reason: "cannot be read") {
      $0.pem.replacing("\nMII", with: "\n!!!")
    },
    Bad(testDescription: "base64 of something else", reason: "cannot be read") { _ in
      "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"
    },
    Bad(testDescription: "another kind of block", reason: "X509 CRL") {
      $0.pem + "-----BEGIN X509 CRL-----\naGVsbG8=\n-----END X509 CRL-----\n"
    },
    Bad(testDescription: "a kind of block with control characters", reason: "there is a EVIL[2J in it") {
      $0.pem + "-----BEGIN EVIL\u{1B}[2J\u{7}-----\naGVsbG8=\n-----END EVIL\u{1B}[2J\u{7}-----\n"
    },
    Bad(testDescription: "broken DER", reason: "cannot be read") { _ in "0\u{80}\u{1}\u{2}" },
  ]

  @Test(arguments: bad) func `an unreadable certificate file is refused with an error that names the file`(bad: Bad)
    throws
  {
    let certificate = try selfSigned()
    let file = Array(bad.file(certificate).utf8)
    let error = try #require(throws: TLSError.self) { _ = try TrustStore(pem: file, name: "ca.pem") }
    #expect(error.kind == .certificateInvalid)
    #expect(error.detail.hasPrefix("ca.pem: "))
    #expect(error.detail.contains(bad.reason), "\(error)")
    #expect(
      error.detail.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a control character could change the terminal")
    #expect(throws: TLSError.self) { try Certificates.describe(file: file) }
  }

  @Test func `stores with different certificates have different fingerprints`() throws {
    let first = try selfSigned()
    let second = try selfSigned()
    let stores = try [first.pem, second.pem, first.pem + second.pem, first.pem].map {
      try TrustStore(pem: Array($0.utf8), name: "ca").fingerprint
    }
    #expect(Set(stores).count == 3)
    #expect(stores[0] == stores[3])
  }

  @Test func `the system's trust store is read only once`() throws {
    let first = try TrustStore.system()
    #expect(try TrustStore.system() === first)
    #expect(first.fingerprint.count == 32)
  }

  @Test func `a context refuses a trust store that its identity does not name`() throws {
    let store = try Authority().store()
    let other = try Authority().store()
    let origin = Origin(scheme: .https, host: try HostName(parsing: "upstream.test"), port: 443)
    let plain = Origin(scheme: .http, host: try HostName(parsing: "upstream.test"), port: 80)
    for (origin, store) in [(origin, other), (plain, store)] {
      let identity = SessionIdentity(
        origin: origin, trust: TrustPolicy(), trustFingerprint: store === other ? [] : store.fingerprint, grant: nil,
        generation: 1)
      #expect(throws: TLSError.self) { _ = try ClientContext(identity: identity, store: store) }
    }
  }
}

/// Environment variables do not change trust (T30). OpenSSL reads them only once, therefore the test runs in its own
/// process.
@Suite struct EnvironmentTests {
  @Test func `hostile environment variables add no trust, no old protocol and no key log`() async {
    await #expect(processExitsWith: .success) {
      let directory = "/tmp/bearerd-environment-\(getpid())"
      mkdir(directory, 0o700)
      func write(_ name: String, _ text: String) -> String {
        let file = fopen("\(directory)/\(name)", "w")
        fputs(text, file)
        fclose(file)
        return "\(directory)/\(name)"
      }
      // Before the first use of OpenSSL.
      setenv("OPENSSL_CONF", write("openssl.cnf", hostileConfiguration), 1)
      setenv("SSL_CERT_FILE", "\(directory)/ca.pem", 1)
      setenv("SSL_CERT_DIR", directory, 1)
      setenv("SSLKEYLOGFILE", "\(directory)/keys", 1)
      _ = try TrustStore.system()
      let attacker = try Authority("Attacker")
      _ = write("ca.pem", attacker.root.pem)
      defer { for name in ["ca.pem", "openssl.cnf", "keys"] { unlink("\(directory)/\(name)") }; rmdir(directory) }

      let store = try TrustStore.system()
      let server = try UpstreamServer(chain: [try attacker.leaf(), attacker.intermediate], handler: echo)
      let context = try context(store)
      let error = #expect(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
      #expect(error?.kind == .certificateInvalid)
      #expect(server.finish().allSatisfy { $0.bytes.isEmpty })

      var old = UpstreamServer.Options()
      old.tlsVersion = 0x0302
      let oldServer = try UpstreamServer(
        chain: [try attacker.leaf(), attacker.intermediate], options: old, handler: echo)
      let trusting = try TLSTests.context(try attacker.store())
      #expect(throws: TLSError.self) { _ = try Client.connect(trusting, port: oldServer.port) }
      oldServer.stop()

      let good = try UpstreamServer(chain: [try attacker.leaf(), attacker.intermediate], handler: echo)
      var client = try Client.connect(trusting, port: good.port)
      #expect(try client.exchange("x") == "x")
      client.closeNotify()
      #expect(good.finish().map(\.version) == ["TLSv1.3"])
      #expect(access("\(directory)/keys", F_OK) != 0)
    }
  }
}

/// If OpenSSL read this file, TLS 1.3 would not be available.
private let hostileConfiguration = """
  openssl_conf = a
  [a]
  ssl_conf = b
  [b]
  system_default = c
  [c]
  MinProtocol = TLSv1
  MaxProtocol = TLSv1.2
  CipherString = ALL@SECLEVEL=0

  """
