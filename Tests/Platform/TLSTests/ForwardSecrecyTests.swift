import TestServer
import Policy
import TLS
import TestSupport
import Testing

@Suite struct ForwardSecrecyTests {
  @Test(
    arguments: [
      ("AES128-SHA", false), ("AES256-GCM-SHA384", false), ("ECDHE-RSA-AES128-SHA", false),
      ("ECDHE-RSA-AES256-SHA384", false), ("DHE-RSA-AES128-GCM-SHA256", false), ("CAMELLIA128-SHA", false),
      ("ECDHE-RSA-AES128-GCM-SHA256", true), ("ECDHE-RSA-AES256-GCM-SHA384", true),
      ("ECDHE-RSA-CHACHA20-POLY1305", true),
    ])
  func `T66: TLS 1.2 is used only with ECDHE and AEAD ciphers`(cipher: String, isAccepted: Bool) throws {
    let authority = try Authority()
    let leaf = try authority.leaf { $0.key = .rsa2048 }
    var options = UpstreamServer.Options()
    (options.tlsVersion, options.ciphers) = (0x0303, cipher)
    let server = try UpstreamServer(chain: [leaf, authority.intermediate], options: options, handler: echo)
    defer { server.stop() }
    let context = try context(authority.store())
    if isAccepted {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      client.closeNotify()
    } else {
      #expect(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    }
  }
}
