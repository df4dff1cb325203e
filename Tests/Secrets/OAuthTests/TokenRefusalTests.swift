import Credentials
import Secrets
import OAuth
import Settings
import Testing

/// Refused token requests, and whether the request is repeated.
@Suite struct TokenRefusalTests {
  private static let transient = TokenRefusal.Kind.transient(retryAfter: nil)

  @Test(
    arguments: [
      (.invalidRequest, .misconfigured), (.invalidClient, .misconfigured), (.invalidGrant, .final),
      (.unauthorizedClient, .misconfigured), (.unsupportedGrantType, .misconfigured), (.invalidScope, .misconfigured),
      (.accessDenied, .misconfigured), (.unsupportedResponseType, .misconfigured), (.serverError, transient),
      (.temporarilyUnavailable, transient), (.authorizationPending, .misconfigured), (.slowDown, .misconfigured),
      (.expiredToken, .misconfigured), (.invalidTarget, .misconfigured), (.unsupportedTokenType, .misconfigured),
      (.interactionRequired, .final), (.loginRequired, .final), (.accountSelectionRequired, .final),
      (.consentRequired, .final),
    ] as [(TokenErrorCode, TokenRefusal.Kind)], [400, 401, 403, 200])
  func `each registered error code has its meaning`(_ row: (TokenErrorCode, TokenRefusal.Kind), _ status: Int) throws {
    let response = try read(
      #"{"error":"\#(row.0.rawValue)","error_description":"swordfish","error_uri":"https://swordfish.example"}"#,
      status: status)
    guard case .refused(let kind, let code, let sentence) = response else {
      Issue.record("granted")
      return
    }
    #expect(kind == row.1)
    #expect(code == row.0)
    #expect(sentence.contains(row.0.rawValue) && !sentence.contains("swordfish"))
  }

  @Test func `all 19 registered error codes are known`() {
    #expect(TokenErrorCode.allCases.count == 19)
  }

  /// For the other grants, the secret comes from the configuration, and a login would not help.
  @Test func `a new login is required only for credentials of a user who logged in`() throws {
    for grant in [
      .clientCredentials, .password(user: .plain("u"), password: somewhere),
      .tokenExchange(TokenExchange(subject: somewhere)), .jwtBearer(TokenAssertion(key: SigningKeySource(somewhere))),
    ] as [TokenGrantKind] {
      for code in ["invalid_grant", "login_required"] {
        #expect(try read(#"{"error":"\#(code)"}"#, status: 400, of: source(grant)).kind == .misconfigured)
      }
    }
    #expect(
      try read(#"{"error":"invalid_grant"}"#, status: 400, to: .code(redirectURI: "")).kind == .misconfigured)
  }

  @Test(
    arguments: [
      ("authorization_pending", .pending), ("slow_down", .slowDown), ("access_denied", .denied),
      ("expired_token", .expired),
    ] as [(String, DevicePolling.Outcome)])
  func `the poll of a device login has its own error codes`(_ code: String, _ step: DevicePolling.Outcome) throws {
    #expect(try read(#"{"error":"\#(code)"}"#, status: 400, to: .deviceToken).kind == .pending(step))
  }

  @Test(
    arguments: [
      (#"{"error":"swordfish"}"#, 400, .misconfigured), (#"{"error":""}"#, 400, .misconfigured),
      (#"{"error":"invalid_grant "}"#, 400, .misconfigured), (#"{"error":"INVALID_GRANT"}"#, 400, .misconfigured),
      (#"{"error":["invalid_grant"]}"#, 400, .misconfigured),
      (#"{"error":{"code":"invalid_grant"}}"#, 400, .misconfigured),
      (#"{"x":{"error":"invalid_grant"}}"#, 400, .misconfigured), (#"{"error":null}"#, 400, .misconfigured),
      (#"{"error":"invalid_grant","error":"x"}"#, 400, .misconfigured), ("", 400, .misconfigured),
      ("<html>", 401, .misconfigured), ("", 403, .misconfigured), ("", 404, .misconfigured), ("", 405, .misconfigured),
      ("", 410, .misconfigured), ("", 418, .misconfigured), (#"{"error":"swordfish"}"#, 200, transient),
      (#"{"error":1,"access_token":"a","token_type":"Bearer"}"#, 200, transient),
      (#"{"error":"invalid_client","access_token":"a","token_type":"Bearer"}"#, 200, .misconfigured),
      (#"{"access_token":"a","token_type":"Bearer"}"#, 400, .misconfigured),
      ("", 200, transient), ("", 204, transient), (" \n", 202, transient),
      (#"{"access_token":"a","token_type":"Bearer"}"#, 302, .misconfigured),
      (#"{"access_token":"a","token_type":"Bearer"}"#, 307, .misconfigured), ("", 304, .misconfigured),
      (#"{"access_token":"a","token_type":"Bearer"}"#, 500, transient),
      // An error code in a 5xx or 429 response says nothing about the login.
      (#"{"error":"invalid_grant"}"#, 500, transient), (#"{"error":"invalid_grant"}"#, 503, transient),
      (#"{"error":"invalid_grant"}"#, 429, transient), ("", 408, transient), ("", 425, transient), ("", 599, transient),
      ("", 600, transient), ("", 0, transient), ("", -1, transient), ("", 199, transient),
    ] as [(String, Int, TokenRefusal.Kind)])
  func `an unregistered error is classified by its status`(_ body: String, _ status: Int, _ kind: TokenRefusal.Kind)
    throws
  {
    let response = try read(body, status: status)
    #expect(response.kind == kind)
    if case .refused(_, _, let sentence) = response { #expect(!sentence.contains("swordfish")) }
  }

  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let time: Int64 = 784_111_777

  @Test(
    arguments: [
      ("120", nil, 120_000), ("0", nil, 0), (nil, nil, nil), ("", nil, nil), ("soon", nil, nil), ("-1", nil, nil),
      ("1.5", nil, nil), ("99999999999999999999999", nil, .max), (date, nil, 30_000),
      ("Sunday, 06-Nov-94 08:49:37 GMT", nil, 30_000), ("Sun Nov  6 08:49:37 1994", nil, 30_000),
      // The server's own Date field counts, because clocks may differ.
      (date, "Sun, 06 Nov 1994 08:49:30 GMT", 7_000), (date, date, 0), (date, "Sun, 06 Nov 1994 09:49:37 GMT", 0),
      (date, "yesterday", 30_000), ("120, 120", nil, nil),
    ] as [(String?, String?, UInt64?)], [429, 503])
  func `the Retry-After field is read as seconds or as a date`(
    _ row: (retryAfter: String?, date: String?, pause: UInt64?), _ status: Int
  ) throws {
    let response = try read("", status: status, now: Self.time - 30) {
      ($0.retryAfter, $0.date) = (row.retryAfter, row.date)
    }
    #expect(response.kind == .transient(retryAfter: row.pause))
  }

  @Test(arguments: [Int64.min, -9_000_000_000_000_000_000, .max])
  func `an extreme clock does not trap`(_ now: Int64) throws {
    let response = try read("", status: 503, now: now) { $0.retryAfter = Self.date }
    guard case .transient(.some) = response.kind else {
      Issue.record("\(response)")
      return
    }
  }

  @Test func `the difference to the server's clock is computed`() {
    var head = TokenResponseHead(status: 200)
    #expect(head.clockLead(now: 5) == nil)
    head.date = Self.date
    #expect(head.clockLead(now: Self.time - 400) == 400)
    #expect(head.clockLead(now: .min) == nil)
  }

  @Test(
    arguments: [
      (200, "", nil), (200, "<html>", nil), (503, "", transient),
      (400, #"{"error":"unsupported_token_type"}"#, .misconfigured),
      (401, #"{"error":"invalid_client"}"#, .misconfigured), (204, "", transient), (302, "", .misconfigured),
    ] as [(Int, String, TokenRefusal.Kind?)])
  func `revoking a token succeeds only with status 200`(_ status: Int, _ body: String, _ kind: TokenRefusal.Kind?)
    throws
  {
    let bytes = Array(body.utf8)
    let head = TokenResponseHead(status: status, contentType: "application/json")
    let refusal = TokenResponse.refusal(ofRevocation: head, bytes.span, of: try source(), .refreshToken, now: 0)
    #expect(refusal?.kind == kind)
  }
}
