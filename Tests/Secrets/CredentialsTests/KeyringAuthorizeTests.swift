import Credentials
import Secrets
import Settings
import TestServer
import HTTP1
import Policy
import Primitives
import TestSupport
import Testing

@testable import TLS

/// `authorize` is the only function that sends a credential. Each refusal has exactly one reason, and the server
/// receives nothing.
@Suite struct KeyringAuthorizeTests {
  let scratch: Scratch
  let scheme: AuthScheme
  private let request = OutgoingRequest("POST /x HTTP/1.1\r\nHost: upstream.test\r\n")

  init() throws {
    scratch = try Scratch()
    scheme = .bearer(.file(try scratch.write("token", "CANARY")))
  }

  @Test func `head, credential and body are sent in one TLS record`() throws {
    let keyring = try keyring(scheme, grant: grant(callers: [1000]))
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      for _ in 0..<2 { try keyring.authorize(grant: 0, request: request, body: Array("a=b".utf8), over: &session) }
      #expect(session.records == 2)
    }
    let one = "POST /x HTTP/1.1\r\nHost: upstream.test\r\nAuthorization: Bearer CANARY\r\n\r\na=b"
    #expect(upstream.finish() == [one + one])
  }

  @Test func `a request that is too large for one TLS record is sent in several records`() throws {
    let token = String(repeating: "t", count: 40_000)
    let keyring = try keyring(.bearer(.file(scratch.write("long", token))))
    let body = (0..<50_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    for padding in [0, 15_000, 16_300, 16_384, 16_385, 60_000] {
      var request = request
      request.fields.append(contentsOf: Array("X: \(String(repeating: "p", count: padding))\r\n".utf8))
      let upstream = try Upstream()
      do {
        var session = try upstream.session()
        try keyring.authorize(grant: 0, request: request, body: body, over: &session)
      }
      let expected = Array(request.text.utf8) + Array("Authorization: Bearer \(token)\r\n\r\n".utf8) + body
      #expect(upstream.finish().map { $0 == String(decoding: expected, as: UTF8.self) } == [true])
    }
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: AuthorizationError.Reason
    var index = 0
    var grantedOrigins = ["https://upstream.test"]
    var callers: Set<UInt32>?
    var sessionOrigin = "https://upstream.test"
    var sessionGrant: String? = "api"
    var request = OutgoingRequest("GET / HTTP/1.1")
  }

  static let refusals: [Refusal] = [
    Refusal(testDescription: "another host", reason: .originNotGranted, sessionOrigin: "https://other.test"),
    Refusal(testDescription: "another port", reason: .originNotGranted, sessionOrigin: "https://upstream.test:8443"),
    Refusal(
      testDescription: "a grant for another port", reason: .originNotGranted,
      grantedOrigins: ["https://upstream.test:8443"]),
    Refusal(
      testDescription: "a grant for http", reason: .originNotGranted, grantedOrigins: ["http://upstream.test:443"]),
    Refusal(testDescription: "a grant for nothing", reason: .originNotGranted, grantedOrigins: []),
    Refusal(testDescription: "a session of another credential", reason: .wrongSession, sessionGrant: "other"),
    Refusal(testDescription: "a session without credential", reason: .wrongSession, sessionGrant: nil),
    Refusal(testDescription: "another caller", reason: .callerNotGranted, callers: [1001, 0]),
    Refusal(testDescription: "no caller at all", reason: .callerNotGranted, callers: []),
    Refusal(testDescription: "an index too high", reason: .unknownGrant, index: 1),
    Refusal(testDescription: "a negative index", reason: .unknownGrant, index: -1),
    Refusal(testDescription: "an empty line after the fields", reason: incomplete, request: fields("a: b\r\n\r\n")),
    Refusal(testDescription: "a field without its line's end", reason: incomplete, request: fields("a: b")),
    Refusal(testDescription: "a bare LF at the end", reason: incomplete, request: fields("a: b\n")),
    Refusal(testDescription: "only a line's end", reason: incomplete, request: fields("\r\n")),
    Refusal(testDescription: "an empty request", reason: incomplete, request: OutgoingRequest()),
  ]

  private static func fields(_ text: String) -> OutgoingRequest {
    var request = OutgoingRequest("GET / HTTP/1.1")
    request.fields.append(contentsOf: Array(text.utf8))
    return request
  }

  static let incomplete = AuthorizationError.Reason.sessionFailed(
    TLSError(kind: .internalError, detail: "the request line or the fields of the request are not complete"))

  @Test(arguments: refusals) func `a refused request sends nothing`(row: Refusal) throws {
    let keyring = try keyring(scheme, grant: grant(origins: row.grantedOrigins, callers: row.callers))
    let upstream = try Upstream()
    do {
      var session = try upstream.session(origin: row.sessionOrigin, grant: row.sessionGrant)
      let denied = #expect(throws: AuthorizationError.self) {
        try keyring.authorize(grant: row.index, request: row.request, over: &session)
      }
      #expect(denied?.reason == row.reason)
      #expect(denied?.detail.contains("CANARY") == false)
      #expect(session.records == 0)
    }
    #expect(upstream.finish() == [""])
  }

  /// The current configuration may require other pins or other authorities.
  @Test func `T25: a session of another configuration carries no credential`() throws {
    let keyring = try keyring(scheme)
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      for configuration: UInt64 in [0, 2, .max] {
        keyring.configuration = configuration
        let denied = #expect(throws: AuthorizationError.self) {
          try keyring.authorize(grant: 0, request: request, over: &session)
        }
        #expect(denied?.reason == .wrongSession && session.records == 0)
      }
    }
    #expect(upstream.finish() == [""])
  }

  @Test func `each grant sends its own credential`() throws {
    let other = try scratch.write("other", "OTHER")
    let keyring = try Keyring(
      entries: [
        Keyring.Entry(grant: try grant("api"), scheme: scheme),
        Keyring.Entry(grant: try grant("other"), scheme: .bearer(.file(other))),
      ], requireLockedMemory: false)
    #expect(keyring.grantCount == 2)
    let upstream = try Upstream()
    do {
      var session = try upstream.session(grant: "other")
      #expect(throws: AuthorizationError.self) { try keyring.authorize(grant: 0, request: request, over: &session) }
      try keyring.authorize(grant: 1, request: request, over: &session)
    }
    let received = upstream.finish()[0]
    #expect(received.contains("Bearer OTHER"))
    #expect(!received.contains("CANARY"))
  }

  @Test func `a session that uses HTTP/2 carries no credential of an HTTP/1.1 request`() throws {
    let keyring = try keyring(scheme)
    let upstream = try Upstream(selectedProtocol: .http2)
    do {
      var session = try upstream.session(protocols: [.http2, .http1])
      let denied = #expect(throws: AuthorizationError.self) {
        try keyring.authorize(grant: 0, request: request, over: &session)
      }
      guard case .wrongSession? = denied?.reason else { return #expect(Bool(false), "\(denied?.detail ?? "")") }
    }
    #expect(upstream.server.finish().map { $0.bytes + $0.http2.bytes } == [[]])
  }

  @Test func `a session with matching or reported pins carries the credential`() throws {
    let keyring = try keyring(scheme)
    let upstream = try Upstream()
    do {
      var matched = try upstream.session(pins: .matching)
      #expect(matched.verified.proof.pins == .matched)
      try keyring.authorize(grant: 0, request: request, over: &matched)
      // With `report`, requests continue after a mismatch.
      var reported = try upstream.session(pins: .reported)
      #expect(reported.verified.proof.pins == .reported)
      try keyring.authorize(grant: 0, request: request, over: &reported)
    }
    #expect(upstream.finish().allSatisfy { $0.contains("CANARY") })
  }

  /// The TLS module never returns such a session. The test forges the verdict of a stored session.
  @Test(arguments: [SessionProof.PinVerdict.none, .reported])
  func `a session without proof of its pins carries no credential`(proved: SessionProof.PinVerdict) throws {
    let keyring = try keyring(scheme)
    let upstream = try Upstream()
    let context = try upstream.context(pins: .matching)
    do {
      var first = try Session(context, port: upstream.server.port)
      try keyring.authorize(grant: 0, request: request, over: &first)
      try first.read()
      let kept = try #require(context.sessions.offer(now: moment()))
      let honest = kept.verdict
      let forged = SessionVerdict(
        pins: proved, matchedPin: nil, remark: nil, leafKey: honest.leafKey, verifiedAt: honest.verifiedAt,
        validity: honest.validity, leafValidity: honest.leafValidity)
      context.discardSessions()
      // `CachedSession` below takes over the pointer. Without this call, the session would be freed twice.
      keepForever(kept)
      context.sessions.insert(CachedSession(owning: kept.pointer, verdict: forged), epoch: context.sessions.epoch)

      var second = try Session(context, port: upstream.server.port)
      #expect(second.verified.proof.isResumed && second.verified.proof.pins == proved)
      let denied = #expect(throws: AuthorizationError.self) {
        try keyring.authorize(grant: 0, request: request, over: &second)
      }
      #expect(denied?.reason == .pinsNotMatched)
      #expect(second.records == 0)
    }
    #expect(upstream.finish().last == "")
  }

  /// The pool and the handshake have already checked the validity.
  @Test(arguments: [-1_000_000, 1_000_000] as [Int64])
  func `T57: a session carries no credential outside of its proof's validity`(step: Int64) throws {
    let keyring = try keyring(scheme)
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      let denied = #expect(throws: AuthorizationError.self) {
        try keyring.authorize(grant: 0, request: request, now: unixTime() + step, over: &session)
      }
      #expect(denied?.reason == .proofExpired)
      #expect(session.records == 0)
    }
    #expect(upstream.finish() == [""])
  }

  @Test func `a closed session carries no credential`() throws {
    let keyring = try keyring(scheme)
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      session.verified.close()
      let denied = #expect(throws: AuthorizationError.self) {
        try keyring.authorize(grant: 0, request: request, over: &session)
      }
      guard case .sessionFailed = denied?.reason else {
        Issue.record("\(String(describing: denied))")
        return
      }
    }
    #expect(upstream.finish() == [""])
  }
}
