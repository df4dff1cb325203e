import Credentials
import OAuth
import Secrets
import Settings
import Testing

/// The table in docs/oauth.md of what a token endpoint may answer.
@Suite struct TokenResponseTableTests {
  private static let form = "application/x-www-form-urlencoded"
  private static let transient = TokenRefusal.Kind.transient(retryAfter: nil)

  private static func granted(
    _ token: String, _ refresh: String? = nil, _ lifetime: UInt64? = nil, isOdd: Bool = false
  ) -> Said {
    .granted(token, refreshToken: refresh, lifetime: lifetime, isOdd: isOdd)
  }

  @Test(
    arguments: [
      (
        "access_token=gho_x&expires_in=28800&refresh_token=ghr_y&token_type=bearer",
        granted("gho_x", "ghr_y", 28_800_000)
      ),
      ("access_token=a&expires=5108", granted("a", isOdd: true)),
      ("access_token=a%2Bb%2f%3D&token_type=Bearer\r\n", granted("a+b/=")),
      ("%61ccess_token=a&token_type=Bearer&scope=a+b%20c&", granted("a")),
      ("token_type=Bearer&access_token=a=b", granted("a=b")), ("token_type=bearer&access_token=a&x=", granted("a")),
      ("access_token=a&token_type=bearer&refresh_token=", granted("a")),
      ("access_token=a&token_type=bearer&refresh_token=r+s", granted("a", "r s")),
      ("access_token=a&token_type=bearer&expires_in=", granted("a")),
      ("access_token=a&token_type=bearer&expires_in=soon", granted("a", nil, 0, isOdd: true)),
      ("access_token=a&token_type=bearer&error=", granted("a")),
      ("access_token=a&token_type=bearer&x=%22%5C%0A", granted("a")),
      ("{\"access_token\":\"a\",\"token_type\":\"bearer\"}", granted("a")),
    ] as [(String, Said)], [form, "Application/X-WWW-Form-Urlencoded; charset=utf-8", "text/plain"])
  func `a form is read like JSON`(_ row: (body: String, expected: Said), _ type: String) throws {
    #expect(try read(row.body, contentType: type) == row.expected)
  }

  @Test(arguments: [
    "access_token=a&access_token=a", "access_token=a&%61ccess_token=b", "access_token=a%2", "access_token=a%zz",
    "access_token=a%00b", "access_token=a%C3", "access_token", "a", "=", "&", "access_token=", "access_token=a+b",
    "access_token=a b", "access_token=é", "access_token=a%0D%0AX:+y", "access_token=<a>", "Access_Token=a", "",
    " access_token=a", "access_token=a;token_type=bearer\u{0}",
    "access_token=a" + String(repeating: "&x=", count: 65), "access_token=" + String(repeating: "a", count: 16_385),
  ])
  func `a form that is ambiguous, invalid or too large is refused`(_ body: String) throws {
    #expect(try read(body, contentType: Self.form).kind == Self.transient)
  }

  @Test(arguments: ["text/html", "application/json", nil, "", "application/octet-stream"] as [String?])
  func `a form with another content type is refused`(_ type: String?) throws {
    #expect(try read("access_token=a&token_type=bearer", contentType: type).kind == Self.transient)
  }

  @Test func `a byte order mark before the body is skipped`() throws {
    for type in ["application/json", "text/plain", nil] {
      let response = try read("\u{FEFF} {\"access_token\":\"a\",\"token_type\":\"bearer\"}", contentType: type)
      #expect(response == Self.granted("a"))
    }
    #expect(try read("\u{FEFF}access_token=a&token_type=bearer", contentType: Self.form) == Self.granted("a"))
    #expect(try read("\u{FEFF}", contentType: Self.form).kind == Self.transient)
  }

  @Test(arguments: [200, 201, 202, 203, 206, 299])
  func `every 2xx with a token is a success`(_ status: Int) throws {
    #expect(
      try read(#"{"access_token":"a","token_type":"bearer","refresh_token":"r"}"#, status: status)
        == Self.granted("a", "r"))
  }

  @Test(
    arguments: [
      (#""bearer""#, true, false), (#""Bearer""#, true, false), (#""BEARER""#, true, false),
      (#""bearer ""#, true, false), (#""\tBearer""#, true, false), ("null", true, true), (#""""#, true, true),
      (#"" ""#, true, true), (#""BearerToken""#, true, true), (#""token""#, true, true), (#""bot""#, true, true),
      (#""user""#, true, true), (#""urn:ietf:params:oauth:token-type:access_token""#, true, true),
      (#""N_A""#, false, false), (#""DPoP""#, false, false), (#""dpop""#, false, false), (#""mac""#, false, false),
      (#""pop""#, false, false), (#""Bearer x""#, false, false), (#""b\u0065arer\n""#, false, false),
      (#""urn:ietf:params:oauth:token-type:jwt""#, false, false), ("1", false, false), ("true", false, false),
      (#"["bearer"]"#, false, false), ("{}", false, false),
    ] as [(String, Bool, Bool)])
  func `a token type means bearer, or is refused`(_ type: String, _ isAccepted: Bool, _ isOdd: Bool) throws {
    let response = try read(#"{"access_token":"a","token_type":\#(type)}"#)
    if isAccepted { #expect(response == Self.granted("a", isOdd: isOdd)) } else { #expect(response.kind != nil) }
  }

  @Test(arguments: ["DPoP", "mac", "PoP", "N_A"])
  func `a token type that needs more than the token is named`(_ type: String) throws {
    guard case .refused(.misconfigured, _, let sentence) = try read(#"{"access_token":"a","token_type":"\#(type)"}"#)
    else {
      Issue.record("not refused as a wrong setting")
      return
    }
    #expect(sentence.lowercased().contains(type.lowercased()))
  }

  @Test(
    arguments: [
      (#"{"error":"bad_refresh_token","error_description":"x"}"#, 200, .final, "bad_refresh_token"),
      (#"{"error":"incorrect_client_credentials"}"#, 200, .misconfigured, "incorrect_client_credentials"),
      (#"{"ok":false,"error":"token_expired"}"#, 200, .final, "token_expired"),
      (#"{"ok":false,"error":"invalid_refresh_token"}"#, 200, .final, "invalid_refresh_token"),
      (#"{"ok":false,"error":"ratelimited"}"#, 200, transient, "ratelimited"),
      (#"{"ok":false,"error":"bad_client_secret"}"#, 200, .misconfigured, "bad_client_secret"),
      (#"{"ok":false}"#, 200, transient, ""), (#"{"error":"swordfish"}"#, 200, transient, "without a known reason"),
      (#"{"code":400,"error_code":"refresh_token_not_found","msg":"x"}"#, 400, .final, "refresh_token_not_found"),
      (#"{"code":400,"error_code":"refresh_token_already_used"}"#, 400, .final, "refresh_token_already_used"),
      (#"{"code":429,"error_code":"over_request_rate_limit"}"#, 429, transient, "429"),
      (#"{"code":400,"error_code":"swordfish"}"#, 400, .misconfigured, "without a known reason"),
      (#"{"error":"deleted_client"}"#, 401, .misconfigured, "deleted_client"),
      (#"{"error":"invalid_client_id"}"#, 400, .misconfigured, "invalid_client_id"),
      (#"{"error":"invalid_grant","error_codes":[700082]}"#, 400, .final, "AADSTS700082"),
      (#"{"error":"invalid_client","error_codes":[7000222]}"#, 401, .misconfigured, "AADSTS7000222"),
      (#"{"error":"invalid_client","error_codes":[1.5e300]}"#, 401, .misconfigured, "invalid_client"),
      (#"{"error":"invalid_grant"}"#, 201, .final, "invalid_grant"),
    ] as [(String, Int, TokenRefusal.Kind, String)])
  func `codes of providers mean the same as registered codes`(
    _ body: String, _ status: Int, _ kind: TokenRefusal.Kind, _ word: String
  ) throws {
    guard case .refused(let found, _, let sentence) = try read(body, status: status) else {
      Issue.record("granted")
      return
    }
    #expect(found == kind)
    #expect(sentence.contains(word) || word.isEmpty)
    #expect(!sentence.contains("swordfish"))
  }

  @Test func `an error in a form counts, whatever the status is`() throws {
    for status in [200, 201, 400, 401] {
      let body = "error=bad_refresh_token&error_description=The+refresh+token+is+incorrect."
      #expect(try read(body, status: status, contentType: Self.form).kind == .final)
    }
    #expect(try read("error=swordfish", contentType: "text/plain").kind == Self.transient)
    #expect(try read("error=invalid_grant&error=x", status: 400, contentType: Self.form).kind == .misconfigured)
  }

  @Test func `only a lost refresh token of a person requires a login`() throws {
    let body = #"{"error":"bad_refresh_token"}"#
    #expect(try read(body, of: source(.clientCredentials)).kind == .misconfigured)
    #expect(try read(#"{"error":"bad_verification_code"}"#, to: .code(redirectURI: "")).kind == .misconfigured)
    #expect(try read(#"{"error":"incorrect_device_code"}"#, to: .deviceToken).kind == .pending(.expired))
  }

  // MARK: - Places

  private static let slack = """
    {"ok":true,"access_token":"bot","refresh_token":"botr","token_type":"bot","expires_in":1,
    "authed_user":{"id":"U1","access_token":"user","refresh_token":"userr","expires_in":43200,"token_type":"bearer"}}
    """

  private func nestedSource(token: [String], expiresIn: [String]? = nil, expiresAt: [String]? = nil) throws
    -> TokenSource
  {
    var source = try source(.refreshToken(first: somewhere))
    source.places.token = token
    (source.places.expiresIn, source.places.expiresAt) = (expiresIn, expiresAt)
    return source
  }

  @Test func `a nested token has its refresh token, type and lifetime beside it`() throws {
    let nested = try nestedSource(token: ["authed_user", "access_token"])
    for purpose in [.token, .code(redirectURI: "")] as [TokenRequest.Purpose] {
      #expect(try read(Self.slack, of: nested, to: purpose) == Self.granted("user", "userr", 43_200_000))
    }
    // Nothing of the other token is used instead.
    let only = #"{"access_token":"bot","refresh_token":"botr","expires_in":9,"authed_user":{"access_token":"user"}}"#
    #expect(try read(only, of: nested) == Self.granted("user", isOdd: true))
    let missing = #"{"access_token":"bot","authed_user":{"id":"U1"}}"#
    #expect(try read(missing, of: nested).kind == .misconfigured)
  }

  @Test func `a renewal without the nested object is read at the standard places, a login is not`() throws {
    let nested = try nestedSource(token: ["authed_user", "access_token"])
    let body = #"{"access_token":"user","refresh_token":"r","token_type":"bearer","expires_in":9}"#
    #expect(try read(body, of: nested) == Self.granted("user", "r", 9_000))
    #expect(try read(body, of: nested, to: .code(redirectURI: "")).kind == .misconfigured)
  }

  @Test func `the lifetime is read at its own place`() throws {
    let ttl = try nestedSource(token: ["data", "jwt"], expiresIn: ["ttl"])
    let body = #"{"data":{"jwt":"a","token_type":"bearer","expires_in":5},"ttl":"60"}"#
    #expect(try read(body, of: ttl) == Self.granted("a", nil, 60_000))
  }

  @Test(
    arguments: [
      (#""1994-11-06T09:49:37Z""#, 3_600_000), (#""1994-11-06T10:49:37+01:00""#, 3_600_000),
      (#""1994-11-06T09:49:37.999Z""#, 3_600_000), ("784115377", 3_600_000), (#""784115377""#, 3_600_000),
      ("784115377000", 3_600_000), (#""784115377000""#, 3_600_000), ("784111777", 0), ("784111770", 0),
      (#""1994-11-06""#, 0), (#""soon""#, 0), ("true", 0), ("[]", 0), ("-1", 0), ("1e300", 315_360_000_000),
      // Without a time, expires_in counts.
      ("null", 7_000), (#""""#, 7_000),
    ] as [(String, UInt64)])
  func `an absolute time of expiry counts by the server's clock`(_ time: String, _ lifetime: UInt64) throws {
    let timed = try nestedSource(token: ["token"], expiresAt: ["expires_at"])
    let body = #"{"token":"a","token_type":"bearer","expires_in":7,"expires_at":\#(time)}"#
    for lead in [0, -5_000, 5_000] as [Int64] {
      let response = try read(body, status: 201, of: timed, now: 784_111_777 + lead) {
        $0.date = "Sun, 06 Nov 1994 08:49:37 GMT"
      }
      guard case .granted("a", _, let found, _) = response else {
        Issue.record("\(response)")
        continue
      }
      #expect(found == lifetime)
    }
  }
}
