import HTTP1
import HTTP2
import Policy
import Settings
import System
import TLS
import TestServer
import TestSupport
import Testing

@testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// Requests over HTTP/2 wait for the end of a turn of the loop in locked memory, each connection by itself.
@Suite struct RequestStageTests {
  private final class Connection: RequestStageUser {
    let keyring: Keyring
    var session: Session
    let http2: HTTP2Session

    init(_ keyring: Keyring, to upstream: Upstream) throws {
      self.keyring = keyring
      session = try upstream.session(protocols: [.http2, .http1])
      http2 = try HTTP2Session(.client)
    }

    func writeStage() { try? keyring.stage.write(over: &session.verified) }

    func send(_ target: String) throws {
      let nothing: [UInt8] = []
      try keyring.authorize(
        grant: 0, request: OutgoingRequest("GET \(target) HTTP/1.1\r\nHost: h\r\n"), body: nothing.span, endsBody: true,
        caller: me, now: unixTime(), through: http2, delayedBy: self, over: &session.verified)
    }

    var isWaiting: Bool { keyring.stage(of: self) != nil }
  }

  private let keyring: Keyring

  init() throws {
    let scratch = try Scratch()
    let token = SecretSource.file(try scratch.write("token", "TOKEN"))
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
      cookie: nil)
    keyring = try CredentialsTests.keyring(.bearer(token), grant: grant)
  }

  private var staged: String { String(decoding: keyring.staging.bytes, as: UTF8.self) }
  private var isClear: Bool { keyring.staging.bytes.allSatisfy { $0 == 0 } }

  /// Returns the paths that the upstream has received, after all connections have ended.
  private func paths(_ upstream: Upstream) throws -> [[String]] {
    try upstream.server.finish().map { connection in
      if connection.http2.bytes.isEmpty { return [] }
      return try decoded(connection.http2.bytes).flatMap { $0.fields.filter { $0.hasPrefix(":path") } }
    }
  }

  @Test func `the requests of a turn go in one TLS record`() throws {
    let upstream = try Upstream(selectedProtocol: .http2)
    do {
      let connection = try Connection(keyring, to: upstream)
      for target in ["/1", "/2", "/3"] { try connection.send(target) }
      #expect(connection.session.records == 0 && connection.isWaiting && !isClear)
      connection.writeStage()
      #expect(connection.session.records == 1 && !connection.isWaiting && isClear)
    }
    #expect(try paths(upstream) == [[":path: /1!", ":path: /2!", ":path: /3!"]])
  }

  @Test func `a connection writes its requests before another one uses the memory`() throws {
    let upstream = try Upstream(selectedProtocol: .http2)
    do {
      let (first, second) = (try Connection(keyring, to: upstream), try Connection(keyring, to: upstream))
      try first.send("/1")
      try second.send("/2")
      #expect(first.session.records == 1 && !first.isWaiting)
      #expect(second.session.records == 0 && second.isWaiting)
      try first.send("/3")
      #expect(second.session.records == 1 && first.session.records == 1 && first.isWaiting)
      // Also before a request that is sent at once.
      let nothing: [UInt8] = []
      try keyring.authorize(
        grant: 0, request: OutgoingRequest("GET /4 HTTP/1.1\r\nHost: h\r\n"), body: nothing.span, endsBody: true,
        caller: me, now: unixTime(), through: second.http2, over: &second.session.verified)
      #expect(first.session.records == 2 && second.session.records == 2 && isClear)
    }
    #expect(Set(try paths(upstream)) == [[":path: /1!", ":path: /3!"], [":path: /2!", ":path: /4!"]])
  }

  @Test func `more requests than one TLS record can carry are written at once`() throws {
    let upstream = try Upstream(selectedProtocol: .http2)
    let long = "/" + String(repeating: "p", count: 9_000)
    do {
      let connection = try Connection(keyring, to: upstream)
      try connection.send(long)
      try connection.send(long)
      #expect(connection.session.records == (connection.isWaiting ? 0 : 1))
      for _ in 0..<4 { try connection.send(long) }
      #expect(connection.session.records > 0 && connection.isWaiting)
      connection.writeStage()
      #expect(isClear)
    }
    #expect(try paths(upstream) == [[String](repeating: ":path: \(long)!", count: 6)])
  }

  @Test func `discarded requests are wiped, and not sent`() throws {
    let upstream = try Upstream(selectedProtocol: .http2)
    do {
      let connection = try Connection(keyring, to: upstream)
      try connection.send("/1")
      keyring.stage.discard()
      #expect(connection.session.records == 0 && !connection.isWaiting && isClear)
    }
    #expect(try paths(upstream).joined().isEmpty)
  }

  @Test func `no session carries requests of another one`() throws {
    let upstream = try Upstream(selectedProtocol: .http2)
    do {
      let (first, second) = (try Connection(keyring, to: upstream), try Connection(keyring, to: upstream))
      try first.send("/1")
      #expect(throws: TLSError.self) { try keyring.stage.write(over: &second.session.verified) }
      #expect(isClear)
      try first.send("/2")
      let more = Array("more".utf8)
      more.withUnsafeBytes { keyring.stage.append($0, over: &second.session.verified) }
      #expect(isClear)
      #expect(throws: TLSError.self) { try keyring.stage.write(over: &first.session.verified) }
      #expect(first.session.records == 0 && second.session.records == 0)
    }
    #expect(try paths(upstream).joined().isEmpty)
  }
}
