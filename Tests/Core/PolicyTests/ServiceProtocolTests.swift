import Policy
import Testing

@Suite struct ServiceProtocolTests {
  @Test(
    arguments: [(.auto, [.http2, .http1]), (.http1, [.http1]), (.http2, [.http2])]
      as [(ServiceProtocol, [ApplicationProtocol])])
  func `auto offers both protocols, and prefers HTTP/2`(chosen: ServiceProtocol, offered: [ApplicationProtocol]) {
    #expect(chosen.offered == offered)
  }

  @Test func `without TLS, only http2 speaks HTTP/2`() {
    #expect(ServiceProtocol.allCases.filter { $0.withoutTLS == .http2 } == [.http2])
  }
}
