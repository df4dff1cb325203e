import TestServer
import Policy
import TLS
import Testing

/// Application data in both directions, with the ciphertext cut anywhere.
@Suite struct ApplicationDataTests {
  let authority: Authority
  let chain: [Certificate]
  let context: ClientContext

  init() throws {
    authority = try Authority()
    chain = [try authority.leaf(), authority.intermediate]
    context = try TLSTests.context(authority.store())
  }

  private func server(
    _ version: Int32, handler: @escaping @Sendable (AcceptedConnection) -> Void
  ) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    return try UpstreamServer(chain: chain, options: options, handler: handler)
  }

  static let text: [UInt8] = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 251) }

  @Test(arguments: [0x0303, 0x0304] as [Int32], [1, 5, 1000, 65_536])
  func `a download arrives completely at every split`(
    version: Int32, step: Int
  ) throws {
    let body = Array(Self.text.prefix(step == 1 ? 40_000 : 300_000))
    let server = try server(version) { connection in
      _ = try? connection.read()
      try? connection.write(body)
    }
    defer { server.stop() }
    var client = try Client.connect(context, port: server.port)
    try client.write("go")
    let (bytes, isClosed) = try client.read(body.count + 1, step: step)
    #expect(bytes == body)
    #expect(isClosed)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32]) func `an upload arrives completely`(version: Int32) throws {
    let server = try server(version) { connection in
      while let bytes = try? connection.read(), !bytes.isEmpty {}
    }
    defer { server.stop() }
    var client = try Client.connect(context, port: server.port)
    try client.session.write(Self.text.span)
    try client.session.write([UInt8]().span)
    try Self.text.withUnsafeBytes { try client.session.write($0) }
    client.closeNotify()
    #expect(server.finish()[0].bytes == Self.text + Self.text)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32]) func `bytes that the server sends first are not lost`(version: Int32)
    throws
  {
    for _ in 0..<20 {
      let server = try server(version) { try? $0.write(Array("welcome".utf8)) }
      defer { server.stop() }
      var client = try Client.connect(context, port: server.port)
      let (bytes, isClosed) = try client.read(8)
      #expect(bytes == Array("welcome".utf8))
      #expect(isClosed)
    }
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32]) func `an end without close_notify is not reported as closed`(
    version: Int32
  ) throws {
    let server = try server(version) { connection in
      try? connection.write(Array("half".utf8))
      connection.closeWithoutNotify()
    }
    defer { server.stop() }
    var client = try Client.connect(context, port: server.port)
    let (bytes, isClosed) = try client.read(5)
    #expect(bytes == Array("half".utf8))
    #expect(!isClosed)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `a session carries several exchanges, and refuses writes after close`(version: Int32) throws {
    let server = try server(version, handler: echo)
    defer { server.stop() }
    var client = try Client.connect(context, port: server.port)
    #expect(try client.exchange("one") == "one")
    #expect(try client.exchange("two") == "two")
    client.session.close()
    client.session.close()
    #expect(throws: TLSError.self) { try client.write("after the end") }
    client.closeNotify()
    #expect(server.finish()[0].bytes == Array("onetwo".utf8))
  }
}
