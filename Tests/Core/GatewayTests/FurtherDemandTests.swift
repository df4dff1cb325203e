import Gateway
import HTTP1
import Policy
import Testing

/// A challenge that asks for more than the credential says nothing against it.
@Suite struct FurtherDemandTests {
  private static let metadata = "resource_metadata=\"https://mcp.test/.well-known/oauth-protected-resource\""

  private func play(_ line: String, _ fields: [String], refreshable: Bool = false) throws -> Conversation {
    let text = "HTTP/1.1 \(line)\r\n\(fields.map { $0 + "\r\n" }.joined())Content-Length: 2\r\n\r\nno"
    return exchange(get(), text, try snapshot(replayBuffer: refreshable ? 16 : nil) { $0.rejected = .badGateway })
  }

  @Test(arguments: [
    ["OTP"], ["otp realm=\"x\""], ["ipaddress"], ["Bearer \(metadata)"], ["DPoP error=\"use_dpop_nonce\""],
    ["Bearer error=insufficient_scope, scope=\"a b\", \(metadata)"], ["bearer Error=\"insufficient_scope\""],
    ["Bearer realm=\"\", authorization_uri=\"https://login.test/\", error=\"insufficient_claims\", claims=\"e30=\""],
    ["Bearer claims=\"e30=\""], ["Bearer error=\"insufficient_user_authentication\", acr_values=\"mfa\""],
    ["Bearer", "OTP"], ["Bearer \(metadata)", "DPoP \(metadata)"],
  ])
  func `T41: it passes, and starts no renewal`(challenges: [String]) throws {
    for (status, name) in [
      ("401 U", "WWW-Authenticate"), ("407 P", "Proxy-Authenticate"), ("403 F", "WWW-Authenticate"),
    ] {
      for isRefreshable in [false, true] {
        let played = try play(status, challenges.map { "\(name): \($0)" }, refreshable: isRefreshable)
        #expect(played.answer.hasPrefix("HTTP/1.1 \(status)\r\n") && played.answer.hasSuffix("no"), "\(played.answer)")
        for challenge in challenges { #expect(played.answer.contains("\(name): \(challenge)\r\n"), "\(played.answer)") }
        #expect(!played.answer.contains("bearerd") && !played.log.contains("renew"))
        #expect(played.records.map(\.isRejected) == [false] && played.verdicts == [nil])
      }
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
  func `T41: everything else rejects the credential`(challenges: [String]) throws {
    for (status, name) in [("401 U", "WWW-Authenticate"), ("407 P", "Proxy-Authenticate")] {
      let played = try play(status, challenges.map { "\(name): \($0)" })
      #expect(played.answer.hasPrefix("HTTP/1.1 502 ") && played.verdicts == [.rejected], "\(played.answer)")
    }
    let forbidden = try play("403 F", challenges.map { "WWW-Authenticate: \($0)" })
    #expect(!forbidden.answer.contains("WWW-Authenticate") && forbidden.verdicts == [.forbidden])
  }

  @Test func `T36: what asks a person for a password is left out of it`() throws {
    let played = try play(
      "401 U", ["WWW-Authenticate: Basic realm=\"x, OTP\" , OTP,, Digest realm=\"y\", nonce=\"z\" , MFA a=\"b\" ,"])
    #expect(played.answer.contains("WWW-Authenticate: OTP, MFA a=\"b\"\r\n"), "\(played.answer)")
    #expect(!played.answer.contains("realm"))
  }

  @Test func `T41: GitHub's one-time password stands in a field of its own`() throws {
    let wanted = try play("401 U", ["X-GitHub-OTP: required; app"])
    #expect(wanted.answer.hasPrefix("HTTP/1.1 401 ") && wanted.verdicts == [nil])
    #expect(try play("401 U", ["X-GitHub-OTP: no"]).verdicts == [.rejected])
  }

  @Test func `T41: a challenge to a request that carried nothing of the credential is the client's`() throws {
    var played = Conversation(try snapshot { $0.rejected = .badGateway })
    played.client(get())
    played.box.machine.withExchange { $0.wentOutBare() }
    let answer = ok("WWW-Authenticate: Odd realm=x", status: "401 Unauthorized", body: "no")
    played.upstream(answer)
    #expect(played.answer == answer && played.records.map(\.isRejected) == [false] && played.verdicts == [nil])
    // The next request is another one.
    played.client(get())
    played.upstream(answer)
    #expect(played.answer.contains("502") && played.verdicts == [nil, .rejected])
  }

  @Test(arguments: [
    ("401 U", "WWW-Authenticate: Basic realm=x", "WWW-Authenticate"),
    ("407 P", "Proxy-Authenticate: Negotiate", "Proxy-Authenticate"),
    ("401 U", "WWW-Authenticate: ,=", "WWW-Authenticate"),
  ])
  func `T36: but no person is asked for a password`(status: String, field: String, name: String) throws {
    var played = Conversation(try snapshot())
    played.client(get())
    played.box.machine.withExchange { $0.wentOutBare() }
    played.upstream(ok(field, status: status))
    #expect(value(name, played.answer) == "bearerd-challenge-withheld" && !played.answer.contains("realm"))
    #expect(value("Proxy-Status", played.answer) == nil)
  }

  @Test(arguments: [CredentialChoice.pass, .none])
  func `T36: so is a 407's, where no credential of ours is concerned`(credential: CredentialChoice) throws {
    let response = ok("Proxy-Authenticate: Odd x=y", status: "407 Proxy")
    #expect(exchange(get(), response, try snapshot(credential: credential)).answer == response)
    let other = exchange(get(), ok("Proxy-Authenticate: Odd x=y"), try snapshot(credential: credential))
    #expect(!other.answer.contains("Proxy-Authenticate"))
  }
}
