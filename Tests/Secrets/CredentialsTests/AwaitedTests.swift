import Credentials
import Secrets
import Policy
import TestSupport
import Testing

/// A credential that waits until its upstream has asked for it.
@Suite struct AwaitedTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func keyring(_ file: String) throws -> Keyring {
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
      replayBuffer: 16, authRetry: .awaited(.bearer))
    return try CredentialsTests.keyring(.bearer(.file(file)), grant: grant)
  }

  private func send(
    _ keyring: Keyring, _ upstream: Upstream, isAsked: Bool, origin: String = "https://upstream.test"
  ) throws -> ChallengeAttempt? {
    var session = try upstream.session(origin: origin)
    let head = Array("GET / HTTP/1.1\r\nHost: upstream.test\r\n".utf8)
    let body = Array("body".utf8)
    return try keyring.authorize(
      grant: 0, head: head.span, body: body.span, caller: me, now: unixTime(), isAsked: isAsked, over: &session.verified
    )
  }

  @Test
  func `T41: It stays here until the request has been asked for it, each time anew`() throws {
    let (keyring, upstream) = (try keyring(scratch.write("token", "CANARY")), try Upstream())
    for _ in 0..<2 {
      let attempt = try #require(try send(keyring, upstream, isAsked: false))
      #expect(attempt.isBare && attempt.awaited == .bearer && attempt.hashes == nil && attempt.tokenServer == nil)
      // What goes out now depends on no further answer.
      #expect(try send(keyring, upstream, isAsked: true) == nil)
    }
    let start = "GET / HTTP/1.1\r\nHost: upstream.test\r\n"
    let pair = [start + "\r\nbody", start + "Authorization: Bearer CANARY\r\n\r\nbody"]
    #expect(upstream.finish() == pair + pair)
  }

  @Test
  func `T40: Without a value, or to another origin, nothing goes out, bare or not`() throws {
    let (missing, upstream) = (try keyring("\(scratch.path)/missing"), try Upstream())
    let there = try keyring(scratch.write("token", "CANARY"))
    for isAsked in [false, true] {
      let denied = #expect(throws: AuthorizationError.self) { try send(missing, upstream, isAsked: isAsked) }
      #expect(denied?.reason == .unavailable)
      let elsewhere = #expect(throws: AuthorizationError.self) {
        try send(there, upstream, isAsked: isAsked, origin: "https://other.test")
      }
      #expect(elsewhere?.reason == .originNotGranted)
    }
    let got = upstream.finish().joined()
    #expect(got == "")
  }

  @Test
  func `What the upstream does not ask for is said once`() throws {
    let (keyring, upstream) = (try keyring(scratch.write("token", "CANARY")), try Upstream())
    let attempts = try (0..<2).map { _ in try #require(try send(keyring, upstream, isAsked: false)) }
    let complaints = attempts.map { $0.complaint() }
    #expect(complaints == ["the upstream responds with 401, but does not ask for Bearer", nil])
    _ = upstream.finish()
  }
}
