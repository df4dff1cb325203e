import TestServer
import TestSupport
import Testing

@testable import TLS

/// Limits on the certificates that an upstream sends (T60).
@Suite struct ChainLimitsTests {
  /// The error of a handshake with a server that sends this chain. `nil` if the handshake succeeds.
  private func handshakeError(_ chain: [Certificate], trusting authority: Authority) throws -> TLSError? {
    let server = try UpstreamServer(chain: chain, handler: echo)
    defer { server.stop() }
    let context = try context(authority.store())
    do {
      var client = try Client.connect(context, port: server.port)
      client.closeNotify()
      return nil
    } catch let error as TLSError {
      return error
    }
  }

  @Test(arguments: [(16, nil), (17, "sent 17 certificates: bearerd verifies at most 16")] as [(Int, String?)])
  func `T60: more than 16 certificates are refused`(count: Int, error expected: String?) throws {
    let authority = try Authority()
    let chain = [try authority.leaf()] + Array(repeating: authority.intermediate, count: count - 1)
    let error = try handshakeError(chain, trusting: authority)
    #expect(error.map { $0.kind == .certificateInvalid } ?? true)
    #expect(error?.detail.hasSuffix(expected ?? "?") ?? (expected == nil), "\(String(describing: error))")
  }

  @Test(arguments: [(2_048, nil), (2_049, "sent 2049 names: bearerd compares at most 2048")] as [(Int, String?)])
  func `T60: more than 2048 names are refused`(count: Int, error expected: String?) throws {
    let authority = try Authority()
    let leaf = try authority.leaf { options in
      options.dnsNames += (options.dnsNames.count..<count).map { "\($0).test" }
    }
    let error = try handshakeError([leaf, authority.intermediate], trusting: authority)
    #expect(error?.detail.hasSuffix(expected ?? "?") ?? (expected == nil), "\(String(describing: error))")
  }

  @Test(
    arguments: [(200, nil), (400, "600 names and 400 constraints: bearerd makes at most 65536 comparisons")]
      as [(Int, String?)])
  func `T60: more than 65536 comparisons of names with constraints are refused`(count: Int, error expected: String?)
    throws
  {
    let authority = try Authority()
    var options = Certificate.Options()
    (options.isCA, options.commonName) = (true, "constrained")
    options.nameConstraints = (0..<count).map { "excluded;DNS:\($0).evil.test" }.joined(separator: ",")
    let constrained = try Certificate(options, issuer: authority.root)
    var names = Certificate.Options()
    names.commonName = "leaf"
    names.dnsNames = ["upstream.test"] + (1..<(count == 200 ? 200 : 600)).map { "\($0).test" }
    let error = try handshakeError([try Certificate(names, issuer: constrained), constrained], trusting: authority)
    #expect(error?.detail.hasSuffix(expected ?? "?") ?? (expected == nil), "\(String(describing: error))")
  }

  @Test func `T60: more than 65536 bytes of certificates are refused`() throws {
    let authority = try Authority()
    let leaf = try authority.leaf { options in
      options.dnsNames += (0..<1_800).map { "\($0).\(String(repeating: "a", count: 40)).test" }
    }
    let error = try #require(try handshakeError([leaf, authority.intermediate], trusting: authority))
    #expect(error.kind == .handshakeFailed && error.detail.contains("65536 bytes of certificates"), "\(error)")
  }

  @Test func `T60: a key of more than 8192 bits is refused`() throws {
    let certificates = try CertificateFile(Array(Self.large.utf8), name: "large")
    #expect(ChainLimits.complaint(about: certificates.views) == "a key of 8200 bits: bearerd verifies at most 8192")
  }

  /// RFC 8446 section 4.2.7: groups of finite fields are 0x0100 to 0x01FF.
  @Test func `T60: key exchange over finite fields is not offered`() throws {
    let sink = RecordingSink()
    var handshake = try context(Authority().store()).handshake(sink: sink, now: moment())
    _ = try handshake.advance([UInt8]().span)
    let hello = sink.bytes
    // Type of the extension, its length, and the length of its list.
    let positions = hello.indices.dropLast(6).filter { index in
      hello[index] == 0 && hello[index + 1] == 10 && hello[index + 2] == 0 && hello[index + 4] == 0
        && hello[index + 5] == hello[index + 3] &- 2 && hello[index + 3] > 4
    }
    let position = try #require(positions.first)
    let list = hello[(position + 6)...].prefix(Int(hello[position + 5]))
    let groups = stride(from: list.startIndex, to: list.endIndex, by: 2).map { Int(list[$0]) << 8 | Int(list[$0 + 1]) }
    #expect(groups.contains(0x001D) && groups.contains(0x0017))
    #expect(!groups.contains { (0x0100...0x01FF).contains($0) }, "\(groups)")
  }

  private final class RecordingSink: CiphertextSink {
    var bytes: [UInt8] = []
    override func send(_ ciphertext: Span<UInt8>) {
      for index in ciphertext.indices { bytes.append(ciphertext[index]) }
    }
  }

  @Test func `DER elements are counted, and malformed DER has no count`() {
    func count(_ bytes: [UInt8], _ depth: Int) -> Int? {
      bytes.withUnsafeBytes { DERElements.count(in: $0, 0..<bytes.count, depth: depth) }
    }
    #expect(count([], 0) == 0)
    #expect(count([0x30, 0], 1) == 0)
    #expect(count([0x30, 6, 0x82, 1, 0x61, 0x82, 1, 0x62], 1) == 2)
    #expect(count([0x30, 0x81, 6, 0xA0, 2, 0x30, 0, 0xA1, 0], 2) == 1)
    for bad: [UInt8] in [
      [0x30], [0x30, 1], [0x30, 0x80, 0, 0], [0x30, 0x84, 0, 0, 0, 1, 0], [0x3F, 0], [0x30, 0x81],
    ] {
      #expect(count(bad, 0) == nil, "\(bad)")
    }
  }

  /// A certificate with an RSA modulus of 8200 bits whose factors are unknown.
  private static let large = """
    -----BEGIN CERTIFICATE-----
    MIIE5DCCBIsCFH/K19VWFgdK9RgT1VpDEneAsA0YMAoGCCqGSM49BAMCMA4xDDAK
    BgNVBAMMA2JpZzAgFw0yNjExMjMwNTM2MjhaGA8yMTI2MTAzMDA1MzYyOFowDjEM
    MAoGA1UEAwwDYmlnMIIEIzANBgkqhkiG9w0BAQEFAAOCBBAAMIIECwKCBAIA1NK9
    Llp/uD4apfSobudxxNP2bNzT2tKK877GXdDNEDdJ1H5p0Z9AtfXjb4CXzQq+YtzX
    CirFI+j1XC2p/maby/EZl/WwXTGZLOYnNXfRX1GMsmIJq334kIpyFA4vs+U2gkYv
    4jjk5mMuDd6TTtTYvpAnEewzVZkjcqUu8WhplAZtUaTlEosWz4GtLGyriDbwyyn0
    9AaIWtvbn8E0t9QQAU4zKSXk9fwCVJ7Nt4bMpJZzkd3Cyaord1dXHPUpewPQk2ve
    CAdo/cIXAvEeBd6whYR/gg0re9lDgiTAzbs3ky/IUzTEtF/ZnBLkQfK7Azq27cEA
    M/m20awKDXSbQs3sepsdq8QzyIv4Dn5kEreW+KyXt8gyNZyoU2kgyMaG5CPSBOtg
    5QssV9VTFL8cV7UJaa4BrZ9HGMcMqGxdi54mUQZmUgUP+Bx54bCmDWMlo/LRnpTB
    zxJl5mn0kSyrJFlMifToGMTND9FgN2v7se1ZpThdPJtSah9TPqBnhuBqRIC11lvb
    Q0DjL2c+QuVLu4BYGMn5GGDjFmb52ETOFcQiEFxjsaC7lKhJMKKfh6FO8Z8FbzWY
    vOoviADrns8rkpze0TcTW94y/3vkhiB8U1BsbfmTjS++vkj0RxfzNOr30KWm3QvH
    +WaSFeFWDYEoBtHfIm3A1la2I227+LwJJxoxt/wonoakqeYvLRTBWz05yzmC0PRK
    5zKzsERoHWVqpNNHAU0XbDOHX0E8QJInscUNFYAGbNIdDqemWrG+Z3to00V5HgwL
    hU0qzqzeRWTkiRPuO9S8PEZV/kihBCgISMWvbkuX44V55zG5eRg4a9yz7LP4TQmC
    l1ghbSTDo3Dcr8TH6fhPCBNIKl2i+YiBM0H9sLyeE0UE022/lq7BKtkQIlH03Aax
    iyExSKDNzJM16sVXqEhg2gOgC2fKw17krFDyHrpCbZf+dmQ+cRy9khkNVzo5Oz3w
    ktS9sYJ+rbkmWKOYK7prPqt9qySqxTSUmKHBKe4VmmumvwXubDmCAOS0dT92j6VW
    w/dbOpZWVguJW1sS99OERBSKf3dhVNNOeiuZn5ZDMzmQtub/BOvARWMXp1Mq1C4a
    7UvgK+ggaEX/DEF+iO9iHoDYTn5qAQSVHdoL0kNwTo/zHkGkmWuJ/fWazs2KsGGT
    AIt+f3TUty5uo1gWqxSmjz3jA0RkwBu3AnEr/DGcD35hQZcMUv3MaOtxJnu78uqh
    Z5Pnc203LRdKUqsg9h2xzbVsBbwZYDLiRs4Ba4QYnLLlt9y/bz0xX7mcnFgdGeRM
    sV3LZ8eNm7bSolDQALCaAbGIH7Xi6NLmv6bJQY4WmZGMznegweGVIfH1PvIlyb1r
    yrSdRPuMGftayWsCE0cCAwEAATAKBggqhkjOPQQDAgNHADBEAiBAjVAHpQbgGil/
    RGQQ1DYD8OBnUSnhnQu+Pa3b24Jh8wIgSKWNlo3FkhiMT5dN6qtBeXaw3SmQLwUJ
    ALGACPW6wfA=
    -----END CERTIFICATE-----

    """
}
