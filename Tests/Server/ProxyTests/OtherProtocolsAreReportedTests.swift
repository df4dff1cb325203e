import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// If a client or upstream uses another protocol than HTTP/1.1, the response or the log names the protocol.
@Suite(.inProcess) struct OtherProtocolsAreReported {
  /// An empty SETTINGS frame, which begins an HTTP/2 server's connection preface (RFC 9113 section 3.4).
  private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

  @Test func `a TLS client on a port for plain HTTP gets 400 with the reason`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    try client.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03])
    let text = String(decoding: client.rest().bytes, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 400 ") && text.contains("\"reason\":\"tlsHandshake\""))
    #expect(stage.log.wait(for: .request, ["reason": "tlsHandshake", "help": .present]))
    stage.assertCanary(times: 0)
  }

  @Test func `a response in HTTP/2 is refused, and the log names HTTP/2`() throws {
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      try? connection.write(Self.settings)
      connection.readToEnd()
    }
    try stage.start()
    #expect(try stage.get().text.contains("urn:bearerd:error:upstream-malformed"))
    #expect(stage.log.wait(for: .request, ["reason": "http2Frame", "help": .present]))
    #expect(stage.log.lines(of: .request).last?["help"]?.contains("ALPN") == true)
    stage.assertCanary(times: 1)
  }

  @Test func `for an upstream without TLS that sends HTTP/2, the log names the key to set`() throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let plain = try UpstreamServer(chain: [], options: options) { connection in
      try? connection.write(Self.settings)
      connection.readToEnd()
    }
    defer { plain.stop() }
    let stage = try Stage()
    try stage.start(
      stage.configuration(services: "  plain: { upstream: \"http://127.0.0.1:\(plain.port)/\", credential: none }"))
    #expect(try stage.get("/plain/x").status == 502)
    #expect(stage.log.wait(for: .request, ["reason": "http2Frame", "help": .present]))
    #expect(stage.log.lines(of: .request).last?["help"]?.contains("protocol: http2") == true)
  }

  @Test func `an upstream that sends an HTTP/2 preface is refused, and the log names HTTP/2`() throws {
    let stage = try Stage { connection in
      try? connection.write(Self.settings)
      connection.readToEnd()
    }
    try stage.start()
    #expect(try stage.get().status == 502)
    #expect(stage.log.wait(for: .request, ["reason": "http2Frame", "help": .present]))
  }
}
