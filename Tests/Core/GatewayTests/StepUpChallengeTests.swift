import Gateway
import HTTP1
import Policy
import Testing

/// A challenge for a second factor, more scope or another address does not reject the credential.
@Suite struct StepUpChallengeTests {
  private static let metadata = "resource_metadata=\"https://mcp.test/.well-known/oauth-protected-resource\""

  private func play(_ line: String, _ fields: [String], refreshable: Bool = false) throws -> Conversation {
    let text = "HTTP/1.1 \(line)\r\n\(fields.map { $0 + "\r\n" }.joined())Content-Length: 2\r\n\r\nno"
    return exchange(
      get(), text, try snapshot(replayBuffer: refreshable ? 16 : nil) { $0.options.onRejected = .status502 })
  }

  @Test(arguments: [
    ["OTP"], ["otp realm=\"x\""], ["ipaddress"], ["Bearer \(metadata)"], ["DPoP error=\"use_dpop_nonce\""],
    ["Bearer error=insufficient_scope, scope=\"a b\", \(metadata)"], ["bearer Error=\"insufficient_scope\""],
    ["Bearer realm=\"\", authorization_uri=\"https://login.test/\", error=\"insufficient_claims\", claims=\"e30=\""],
    ["Bearer claims=\"e30=\""], ["Bearer error=\"insufficient_user_authentication\", acr_values=\"mfa\""],
    ["Bearer", "OTP"], ["Bearer \(metadata)", "DPoP \(metadata)"],
  ])
  func `T41: a step-up challenge is passed on and starts no renewal`(challenges: [String]) throws {
    for (status, name) in [
      ("401 U", "WWW-Authenticate"), ("407 P", "Proxy-Authenticate"), ("403 F", "WWW-Authenticate"),
    ] {
      for isRefreshable in [false, true] {
        let played = try play(status, challenges.map { "\(name): \($0)" }, refreshable: isRefreshable)
        #expect(
          played.response.hasPrefix("HTTP/1.1 \(status)\r\n") && played.response.hasSuffix("no"), "\(played.response)")
        for challenge in challenges {
          #expect(played.response.contains("\(name): \(challenge)\r\n"), "\(played.response)")
        }
        #expect(!played.response.contains("bearerd") && !played.log.contains("renew"))
        #expect(played.records.map(\.isRejected) == [false] && played.verdicts == [nil])
      }
    }
  }

  /// The demands of npm, with the field that its client shows to the user.
  @Test(arguments: [
    ["WWW-Authenticate: OTP", "npm-notice: Open https://npm.test/auth to use your security key"],
    ["WWW-Authenticate: ipaddress"], ["WWW-Authenticate: Basic, OTP"], ["X-GitHub-OTP: required; app"],
    ["WWW-Authenticate: Bearer error=\"insufficient_scope\""], ["WWW-Authenticate: Bearer claims=\"e30=\""],
  ])
  func `T41: a step-up challenge starts no renewal, even if every 401 means that the credential has expired`(
    fields: [String]
  ) throws {
    let signs = [
      ExpirySigns(acceptsAnyUnauthorized: true), ExpirySigns(more: [ExpirySigns.Sign(status: 401)]),
    ]
    for (expiry, replayBuffer) in signs.flatMap({ [($0, 16 as Int?), ($0, nil)] }) {
      var played = Conversation(try snapshot(replayBuffer: replayBuffer, expiry: expiry))
      // A request that could not be repeated must not renew the credential for later requests, either.
      played.client(get("Content-Length: 20", method: "POST") + String(repeating: "x", count: 20))
      played.upstream(ok(fields.joined(separator: "\r\n"), status: "401 U", body: "no"))
      #expect(status(played.response) == "401" && played.response.hasSuffix("no"), "\(played.response)")
      #expect(!played.log.contains("renew") && !played.log.contains("replace"), "\(played.log)")
      #expect(played.verdicts == [nil] && played.records.map(\.isRejected) == [false])
      if fields.count == 2 { #expect(played.response.contains(fields[1] + "\r\n")) }
    }
  }

  @Test(arguments: [
    [], ["Bearer"], ["Basic realm=\"x\""], ["Bearer error=\"invalid_token\""],
    ["Bearer error=\"invalid_token\", \(metadata)"],
    ["Bearer error=\"invalid_token\", claims=\"e30=\""], ["Bearer error=\"insufficient_scopes\""], ["OTPX"],
    ["Bearer x=OTP"],
    ["Bearer \(metadata)", "Basic realm=\"x\""], ["Bearer \(metadata), Basic realm=\"x\""],
    ["OTP", "Bearer realm=\"x"],
    ["OTP, Bearer error=invalid_token"], ["Bearer realm=\"claims=\\\"x\\\"\""],
  ])
  func `T41: every other challenge rejects the credential`(challenges: [String]) throws {
    for (status, name) in [("401 U", "WWW-Authenticate"), ("407 P", "Proxy-Authenticate")] {
      let played = try play(status, challenges.map { "\(name): \($0)" })
      #expect(played.response.hasPrefix("HTTP/1.1 502 ") && played.verdicts == [.rejected], "\(played.response)")
    }
    let forbidden = try play("403 F", challenges.map { "WWW-Authenticate: \($0)" })
    #expect(!forbidden.response.contains("WWW-Authenticate") && forbidden.verdicts == [.forbidden])
  }

  @Test func `T36: password challenges are removed from a step-up response`() throws {
    let played = try play(
      "401 U", ["WWW-Authenticate: Basic realm=\"x, OTP\" , OTP,, Digest realm=\"y\", nonce=\"z\" , MFA a=\"b\" ,"])
    #expect(played.response.contains("WWW-Authenticate: OTP, MFA a=\"b\"\r\n"), "\(played.response)")
    #expect(!played.response.contains("realm"))
  }

  @Test func `T41: X-GitHub-OTP counts as a step-up challenge`() throws {
    let wanted = try play("401 U", ["X-GitHub-OTP: required; app"])
    #expect(wanted.response.hasPrefix("HTTP/1.1 401 ") && wanted.verdicts == [nil])
    #expect(try play("401 U", ["X-GitHub-OTP: no"]).verdicts == [.rejected])
  }

  @Test func `T41: a challenge to a request that was sent without the credential is passed on`() throws {
    var played = Conversation(try snapshot { $0.options.onRejected = .status502 })
    played.client(get())
    played.box.machine.relay.exchange.sentWithoutCredential()
    let response = ok("WWW-Authenticate: Odd realm=x", status: "401 Unauthorized", body: "no")
    played.upstream(response)
    #expect(played.response == response && played.records.map(\.isRejected) == [false] && played.verdicts == [nil])
    played.client(get())
    played.upstream(response)
    #expect(played.response.contains("502") && played.verdicts == [nil, .rejected])
  }

  @Test(arguments: [
    ("401 U", "WWW-Authenticate: Basic realm=x", "WWW-Authenticate"),
    ("407 P", "Proxy-Authenticate: Negotiate", "Proxy-Authenticate"),
    ("401 U", "WWW-Authenticate: ,=", "WWW-Authenticate"),
  ])
  func `T36: a password challenge to a request that was sent without the credential is replaced`(
    status: String, field: String, name: String
  ) throws {
    var played = Conversation(try snapshot())
    played.client(get())
    played.box.machine.relay.exchange.sentWithoutCredential()
    played.upstream(ok(field, status: status))
    #expect(value(name, played.response) == "bearerd-challenge-withheld" && !played.response.contains("realm"))
    #expect(value("Proxy-Status", played.response) == nil)
  }

  @Test(arguments: [CredentialChoice.pass, .none])
  func `T36: a 407 challenge is passed on if the service has no credential of bearerd`(credential: CredentialChoice)
    throws
  {
    let response = ok("Proxy-Authenticate: Odd x=y", status: "407 Proxy")
    #expect(exchange(get(), response, try snapshot(credential: credential)).response == response)
    let other = exchange(get(), ok("Proxy-Authenticate: Odd x=y"), try snapshot(credential: credential))
    #expect(!other.response.contains("Proxy-Authenticate"))
  }
}
