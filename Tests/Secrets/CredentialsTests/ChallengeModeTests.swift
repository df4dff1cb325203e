import Credentials
import Secrets
import HTTP1
import Policy
import Settings
import TestSupport
import Testing

/// A credential with `mode: challenge`, which is sent only after a challenge of the upstream.
@Suite struct ChallengeModeTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func keyring(_ file: String) throws -> Keyring {
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
      replayBuffer: 16, authRetry: .challenged(.bearer))
    return try CredentialsTests.keyring(.bearer(.file(file)), grant: grant)
  }

  private func send(
    _ keyring: Keyring, _ upstream: Upstream, isChallenged: Bool, origin: String = "https://upstream.test"
  ) throws -> ChallengeAttempt? {
    var session = try upstream.session(origin: origin)
    let request = OutgoingRequest("GET / HTTP/1.1")
    let body = Array("body".utf8)
    return try keyring.authorize(
      grant: 0, request: request, body: body.span, caller: me, now: unixTime(), isChallenged: isChallenged,
      over: &session.verified
    )
  }

  @Test
  func `T41: a credential is sent only after its request was challenged, each time`() throws {
    let (keyring, upstream) = (try keyring(scratch.write("token", "CANARY")), try Upstream())
    for _ in 0..<2 {
      let attempt = try #require(try send(keyring, upstream, isChallenged: false))
      #expect(attempt.isBare && attempt.awaited == .bearer && attempt.hashes == nil && attempt.tokenServer == nil)
      // After the challenge, no further response matters.
      #expect(try send(keyring, upstream, isChallenged: true) == nil)
    }
    let start = "GET / HTTP/1.1\r\nHost: upstream.test\r\n"
    let pair = [start + "\r\nbody", start + "Authorization: Bearer CANARY\r\n\r\nbody"]
    #expect(upstream.finish() == pair + pair)
  }

  @Test
  func `T40: without a value, or to another origin, nothing is sent`() throws {
    let (missing, upstream) = (try keyring("\(scratch.path)/missing"), try Upstream())
    let there = try keyring(scratch.write("token", "CANARY"))
    for isChallenged in [false, true] {
      let denied = #expect(throws: AuthorizationError.self) { try send(missing, upstream, isChallenged: isChallenged) }
      #expect(denied?.reason == .unavailable)
      let elsewhere = #expect(throws: AuthorizationError.self) {
        try send(there, upstream, isChallenged: isChallenged, origin: "https://other.test")
      }
      #expect(elsewhere?.reason == .originNotGranted)
    }
    let received = upstream.finish().joined()
    #expect(received == "")
  }

  @Test
  func `a missing challenge is reported only once`() throws {
    let (keyring, upstream) = (try keyring(scratch.write("token", "CANARY")), try Upstream())
    let attempts = try (0..<2).map { _ in try #require(try send(keyring, upstream, isChallenged: false)) }
    let messages = attempts.map { $0.mismatchMessage() }
    #expect(messages.map { $0 == nil } == [false, true])
    _ = upstream.finish()
  }
}
