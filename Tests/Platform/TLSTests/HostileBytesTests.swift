import TestServer
import Glibc
import Policy
import TLS
import TestSupport
import Testing

/// Bytes of a hostile peer or network never trap, and never lead to a verified session (T59, T23).
@Suite struct HostileBytesTests {
  let authority: Authority
  let chain: [Certificate]

  init() throws {
    authority = try Authority()
    chain = [try authority.leaf(), authority.intermediate]
  }

  /// The pins are checked before anything is written, wherever the flight is cut.
  @Test func `T23: in 1000 handshakes cut at random, a server without a pinned key receives no byte`() throws {
    let server = try UpstreamServer(chain: chain, handler: echo)
    defer { server.stop() }
    let pins = try pinning(selfSigned(), selfSigned())
    let context = try context(authority.store(), pinning: pins)
    var random = SystemRandomNumberGenerator()
    for _ in 0..<1000 {
      let descriptor = try connectedSocket(port: server.port)
      defer { closeGently(descriptor) }
      var handshake = try context.handshake(sink: SocketSink(descriptor: descriptor), now: moment())
      var progress = try handshake.advance([UInt8]().span)
      while progress == .wantsPeer {
        let input = receive(descriptor)
        try #require(!input.isEmpty)
        var rest = input[...]
        while progress == .wantsPeer, !rest.isEmpty {
          let piece = Array(rest.prefix(Int.random(in: 1...max(1, rest.count / 2), using: &random)))
          rest = rest.dropFirst(piece.count)
          progress = try handshake.advance(piece.span)
        }
      }
      do throws(TLSError) {
        var session = try handshake.verified(now: moment())
        try session.write(Array("CANARY".utf8).span)
        Issue.record("a session with a key that is not pinned")
      } catch {
        #expect(error.kind == .pinMismatch)
      }
    }
    #expect(server.finish().allSatisfy { $0.bytes.isEmpty })
  }

  /// 120 is the alert of a server that supports none of the offered protocols (RFC 7301 section 3.2).
  @Test(arguments: [(120 as UInt8, "supports only HTTP/2"), (70, "protocol version")])
  func `the error explains a TLS alert`(alert: UInt8, words: String) throws {
    let server = try UpstreamServer(chain: chain, handler: echo)
    defer { server.stop() }
    let descriptor = try connectedSocket(port: server.port)
    defer { closeGently(descriptor) }
    var handshake = try context(authority.store())
      .handshake(sink: SocketSink(descriptor: descriptor), now: moment())
    var failure: TLSError?
    do throws(TLSError) {
      _ = try handshake.advance([UInt8]().span)
      _ = try handshake.advance(([0x15, 3, 3, 0, 2, 2, alert] as [UInt8]).span)
    } catch {
      failure = error
    }
    #expect(
      failure?.kind == .handshakeFailed && failure?.detail.contains(words) == true, "\(String(describing: failure))")
  }

  private func server(_ version: Int32) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    return try UpstreamServer(chain: chain, options: options, handler: echo)
  }

  /// Number of bytes that the server sends until the handshake is finished.
  private func flightLength(_ server: UpstreamServer, _ context: ClientContext) throws -> Int {
    var length = 0
    let client = try Client.connect(context, port: server.port) { length += $0.count }
    _ = consume client
    return length
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32]) func `T23: a flipped bit in the server's flight ends the handshake`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(authority.store())
    let length = try flightLength(server, context)
    var verified = 0
    for target in stride(from: 0, to: length, by: 11) {
      var seen = 0
      do {
        var client = try Client.connect(context, port: server.port) { input in
          if target >= seen, target < seen + input.count { input[target - seen] ^= 0x10 }
          seen += input.count
        }
        verified += 1
        client.closeNotify()
      } catch is TLSError {}
      context.discardSessions()
    }
    // Some bits do not matter: the version in a record's header, and a ticket at the end of the flight.
    #expect(verified <= 3)
    #expect(server.finish().allSatisfy { $0.bytes.isEmpty })
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32]) func `T23: a truncated server flight ends in an error`(version: Int32)
    throws
  {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(authority.store())
    let length = try flightLength(server, context)
    // The lengths of signatures and tickets vary by a few bytes.
    for target in stride(from: 0, to: length - 48, by: 23) {
      var seen = 0
      let error = #expect(throws: TLSError.self) {
        _ = try Client.connect(context, port: server.port) { input in
          let rest = max(0, target - seen)
          seen += input.count
          if rest < input.count { input.removeLast(input.count - rest) }
        }
      }
      #expect(error?.kind == .closed)
      context.discardSessions()
    }
    #expect(server.finish().allSatisfy { $0.bytes.isEmpty })
  }

  @Test(
    arguments: [
      [], [0x16], [0x16, 3, 3, 0xFF, 0xFF], [0x15, 3, 3, 0, 2, 2, 40], [0x15, 3, 3, 0, 2, 1, 0], [0x17, 3, 3, 0, 1, 0],
      [0x16, 3, 3, 0, 0], [0x14, 3, 3, 0, 1, 1], [0x16, 3, 3, 0, 4, 0, 0, 0, 0],
      [0x16, 3, 3, 0, 4, 2, 0xFF, 0xFF, 0xFF],
      Array(repeating: 0, count: 20_000), Array(repeating: 0x16, count: 20_000), Array("HTTP/1.1 200 OK\r\n\r\n".utf8),
    ] as [[UInt8]]) func `T59: garbage instead of a ServerHello is an error`(garbage: [UInt8]) throws
  {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let server = try UpstreamServer(chain: [], options: options) { connection in
      _ = try? connection.read()
      try? connection.write(garbage)
    }
    defer { server.stop() }
    let context = try context(authority.store())
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect([.closed, .handshakeFailed].contains(error.kind))
  }

  @Test func `T59: random garbage never finishes a handshake`() throws {
    var random = SystemRandomNumberGenerator()
    let context = try context(authority.store())
    for _ in 0..<2000 {
      var handshake = try context.handshake(sink: NullSink(), now: moment())
      _ = try handshake.advance([UInt8]().span)
      var garbage = (0..<Int.random(in: 1...400)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if Bool.random() { garbage.replaceSubrange(0..<min(3, garbage.count), with: [0x16, 3, 3]) }
      let progress = try? handshake.advance(garbage.span)
      #expect(progress != .finished)
    }
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T59: garbage on a verified session is an error`(
    version: Int32
  ) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let server = try UpstreamServer(chain: chain, options: options) { connection in
      _ = try? connection.read()
      try? connection.write(Array("good".utf8))
      try? connection.writeRaw([0x17, 3, 3, 0, 20] + Array(repeating: 7, count: 20))
    }
    defer { server.stop() }
    var client = try Client.connect(try context(authority.store()), port: server.port)
    try client.write("x")
    var plaintext: [UInt8] = []
    #expect(throws: TLSError.self) {
      while true {
        let (bytes, isClosed) = try client.read(5)
        plaintext += bytes
        if isClosed { break }
      }
    }
  }

  @Test func `T23: an unfinished handshake gives no session`() throws {
    let context = try context(authority.store())
    for hasBegun in [false, true] {
      let error = #expect(throws: TLSError.self) {
        var handshake = try context.handshake(sink: NullSink(), now: moment())
        if hasBegun { #expect(try handshake.advance([UInt8]().span) == .wantsPeer) }
        _ = try handshake.verified(now: moment())
      }
      #expect(error?.kind == .internalError)
    }
  }
}

final class NullSink: CiphertextSink {
  override init() { super.init() }
  override func send(_ ciphertext: Span<UInt8>) {}
}
