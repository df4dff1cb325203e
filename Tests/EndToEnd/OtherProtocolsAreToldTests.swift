import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A peer that speaks another protocol than HTTP/1.1 is told so, or whoever reads the log is.
@Suite(.waits) struct OtherProtocolsAreTold {
  /// The beginning of HTTP/2's connection preface of a server (RFC 9113 section 3.4): an empty SETTINGS frame.
  private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

  @Test func `a TLS client on a port for plain HTTP`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    try client.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03])
    let text = String(decoding: client.rest().bytes, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 400 ") && text.contains("\"reason\":\"tlsHandshake\""))
    #expect(stage.log.wait(for: .request, ["reason": "tlsHandshake", "help": .present]))
    stage.assertCanary(times: 0)
  }

  @Test func `an upstream that answers in HTTP/2`() throws {
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      try? connection.write(Self.settings)
      connection.readToEnd()
    }
    try stage.start()
    #expect(try stage.get().text.contains("urn:bearerd:error:upstream-malformed"))
    #expect(stage.log.wait(for: .request, ["reason": "http2Frame", "help": .present]))
    stage.assertCanary(times: 1)
  }

  @Test func `an upstream that begins with HTTP/2`() throws {
    let stage = try Stage { connection in
      try? connection.write(Self.settings)
      connection.readToEnd()
    }
    try stage.start()
    #expect(try stage.get().status == 502)
    #expect(stage.log.wait(for: .request, ["reason": "http2Frame", "help": .present]))
  }

  @Test func `a proxy that the environment names`() throws {
    let stage = try Stage()
    try stage.start(environment: [
      "HTTPS_PROXY": "http://user:hidden@proxy.test:3128", "no_proxy": "x", "all_proxy": "socks://y",
    ])
    #expect(stage.log.wait(for: .proxyNotUsed, ["names": "HTTPS_PROXY all_proxy", "help": .present]))
    #expect(stage.log.lines(of: .proxyNotUsed).count == 1)
    #expect(stage.log.hides("hidden") && stage.log.hides("proxy.test"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }
}
