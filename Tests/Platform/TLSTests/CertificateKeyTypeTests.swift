import TLS
import Testing

@Suite struct CertificateKeyTypeTests {
  /// A certificate with an X25519 key. X25519 is only for key exchange, not for signatures.
  private let exchangeCertificate = """
    -----BEGIN CERTIFICATE-----
    MIHvMIGWAhRceE8/9xasZjW8oHlU/oOf2IA1+zAKBggqhkjOPQQDAjARMQ8wDQYD
    VQQDDAZ4MjU1MTkwIBcNMjYxMTIyMTIyMTM2WhgPMjEyNjEwMjkxMjIxMzZaMBEx
    DzANBgNVBAMMBngyNTUxOTAqMAUGAytlbgMhAL3CuaOCqI0MpC/9XCa8/TRnd99O
    d3NQTqANpSSFA0wbMAoGCCqGSM49BAMCA0gAMEUCIQDsMUBHJAAQ2ffHQ/+5vHYh
    fKwvD0AsvyzJYy2PDvj33QIgDOMKecxDbvOLkSd5+h1tIUwUFgTqvGRtK3nUAtiW
    5kk=
    -----END CERTIFICATE-----

    """

  @Test func `a key type that TLS does not use for signatures is not decoded`() throws {
    let description = try #require(try Certificates.describe(file: Array(exchangeCertificate.utf8)).first)
    #expect(description.subject == "CN=x25519")
    #expect(description.key == "unknown")
  }
}
