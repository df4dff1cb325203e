import Credentials
import Secrets
import OAuth
import Settings
import Testing

/// Responses of token endpoints.
@Suite struct TokenResponseTests {
  private static let transient = TokenRefusal.Kind.transient(retryAfter: nil)

  @Test(
    arguments: [
      // The example of RFC 6749 section 5.1
      (
        #"{"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"example","expires_in":3600}"#,
        nil
      ),
      (#"{"access_token":"a","token_type":"Bearer"}"#, .granted("a", refreshToken: nil, lifetime: nil, isOdd: false)),
      (#"{"access_token":"a","token_type":"BEARER"}"#, .granted("a", refreshToken: nil, lifetime: nil, isOdd: false)),
      (#"{"access_token":"a","token_type":"bearer"}"#, .granted("a", refreshToken: nil, lifetime: nil, isOdd: false)),
      (#"{"access_token":"a"}"#, .granted("a", refreshToken: nil, lifetime: nil, isOdd: true)),
      (#"{"access_token":"a","token_type":["Bearer"]}"#, nil),
    ] as [(String, Said?)])
  func `only tokens of type Bearer are accepted`(_ body: String, _ expected: Said?) throws {
    let response = try read(body)
    if let expected { #expect(response == expected) } else { #expect(response.kind != nil) }
  }

  @Test(
    arguments: [
      ("3600", 3_600_000, false), (#""3600""#, 3_600_000, false), ("1", 1000, false), ("3599.9", 3_599_000, false),
      ("null", nil, false), ("0", 0, true), ("-1", 0, true), ("0.5", 0, true), (#""0""#, 0, true),
      (#""-5""#, 0, true), (#""""#, nil, false), (#""1h""#, 0, true), (#"" 3600""#, 3_600_000, false),
      (#""3599.0""#, 3_599_000, false), (#""3599.9 ""#, 3_599_000, false), (#"" ""#, nil, false),
      (#""3599.""#, 0, true),
      (#"".5""#, 0, true), (#""3e3""#, 0, true), (#""1.2.3""#, 0, true),
      (#""3600\u0031""#, 36_001_000, false), ("true", 0, true), ("[3600]", 0, true), (#"{"s":3600}"#, 0, true),
      ("1e3", 1_000_000, false), ("9223372036854775807", 315_360_000_000, false),
      ("99999999999999999999999999", 315_360_000_000, false), ("1e300", 315_360_000_000, false),
      (#""99999999999999999999""#, 315_360_000_000, false), (#""999999999999999999999""#, 0, true),
    ] as [(String, UInt64?, Bool)])
  func `expires_in counts in seconds, and an invalid value means that the token has expired`(
    _ text: String, _ lifetime: UInt64?, _ isOdd: Bool
  ) throws {
    let response = try read(#"{"access_token":"a","token_type":"Bearer","expires_in":\#(text)}"#)
    #expect(response == .granted("a", refreshToken: nil, lifetime: lifetime, isOdd: isOdd))
  }

  @Test(
    arguments: [
      (#""a.b-c_d~e+f/g=|:""#, "a.b-c_d~e+f/g=|:"), (#""\u0061""#, "a"), (#""""#, nil), ("null", nil), ("1", nil),
      (#"["a"]"#, nil), (#"" a""#, nil), (#""a ""#, nil), (#""a b""#, nil), (#""a\n""#, nil), (#""a\r\nX-Y: z""#, nil),
      (#""a\u0000b""#, nil), (#""\u007f""#, nil), (#""\u001f""#, nil), (#""é""#, nil), ("\"a\tb\"", nil),
      ("\"\(String(repeating: "a", count: 16_384))\"", String(repeating: "a", count: 16_384)),
      ("\"\(String(repeating: "a", count: 16_385))\"", nil),
    ] as [(String, String?)])
  func `an access token that a field cannot carry is refused`(_ text: String, _ token: String?) throws {
    let response = try read(#"{"token_type":"Bearer","access_token":\#(text)}"#)
    if let token {
      #expect(response == .granted(token, refreshToken: nil, lifetime: nil, isOdd: false))
    } else {
      #expect(response.kind == Self.transient)
    }
  }

  @Test(
    arguments: [
      (#", "refresh_token": "new""#, "new", false), ("", nil, false), (#", "refresh_token": null"#, nil, false),
      (#", "refresh_token": """#, nil, false), (#", "refresh_token": "a b""#, "a b", false),
      (#", "refresh_token": "a\nb""#, nil, true), (#", "refresh_token": 1"#, nil, true),
      (#", "refresh_token": ["a"]"#, nil, true),
    ] as [(String, String?, Bool)])
  func `a new refresh token is accepted, and without a new token the old token stays`(
    _ text: String, _ token: String?, _ isOdd: Bool
  ) throws {
    let body = #"{"access_token":"a","token_type":"Bearer"\#(text)}"#
    #expect(try read(body) == .granted("a", refreshToken: token, lifetime: nil, isOdd: isOdd))
    let code = try read(body, of: source(), to: .code(redirectURI: ""))
    #expect(code == .granted("a", refreshToken: token, lifetime: nil, isOdd: isOdd))
  }

  @Test func `a refresh token is ignored for grants that use their own secret`() throws {
    let body = #"{"access_token":"a","token_type":"Bearer","refresh_token":"r"}"#
    for grant in [
      .clientCredentials, .password(user: .plain("u"), password: somewhere),
      .jwtBearer(TokenAssertion(key: SigningKeySource(somewhere))),
    ] as [TokenGrantKind] {
      #expect(try read(body, of: source(grant)) == .granted("a", refreshToken: nil, lifetime: nil, isOdd: false))
    }
  }

  @Test func `a token exchange accepts only Bearer tokens, and remarks on a missing issued_token_type`() throws {
    let exchange = try source(.tokenExchange(TokenExchange(subject: somewhere)))
    let type = #", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token""#
    for (text, isOdd) in [(type, false), ("", true)] {
      let response = try read(#"{"access_token":"a","token_type":"Bearer"\#(text)}"#, of: exchange)
      #expect(response == .granted("a", refreshToken: nil, lifetime: nil, isOdd: isOdd))
    }
    #expect(try read(#"{"access_token":"a","token_type":"N_A"\#(type)}"#, of: exchange).kind == .misconfigured)
  }

  private static let good = #""access_token":"a","token_type":"Bearer""#

  @Test(arguments: [
    "", " ", "null", "[]", "true", #""a""#, "[{\(good)}]", "{\(good)}x", "{\(good)}{\(good)}", "{\(good)", "{\(good),}",
    "<html>access_token</html>", "access_token=a&token_type=Bearer", "{'access_token':'a'}",
    #"{"data":{\#(good)}}"#, #"{"token":{\#(good)},"token_type":"Bearer"}"#,
    #"{"Access_Token":"a","token_type":"Bearer"}"#,
    #"{\#(good),"access_token":"b"}"#, #"{\#(good),"access_token":"a"}"#, #"{\#(good),"x":{"y":1,"y":2}}"#,
    #"{\#(good),"\u0061ccess_token":"b"}"#, #"{\#(good),"x":"\u0000"}"#, #"{\#(good),"\u0000":"x"}"#,
    #"{\#(good),"x":"\ud800"}"#, #"{\#(good),"x":1e999}"#, #"{\#(good),"x":01}"#, #"{\#(good),"x":NaN}"#,
  ])
  func `a response that is not one unambiguous JSON object is refused`(_ body: String) throws {
    #expect(try read(body).kind == Self.transient)
  }

  @Test func `a response that is not UTF-8 is refused`() throws {
    let bytes = Array(#"{\#(Self.good),"x":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
    let response = TokenResponse.read(
      TokenResponseHead(status: 200, contentType: "application/json"), bytes.span, of: try source(), to: .token, now: 0,
      in: arena)
    if case .granted = response { Issue.record("accepted") }
  }

  @Test func `a response that is too deep or too large is refused`() throws {
    func nested(_ depth: Int) -> String {
      #"{\#(Self.good),"x":\#(String(repeating: "[", count: depth - 1))\#(String(repeating: "]", count: depth - 1))}"#
    }
    #expect(try read(nested(16)).kind == nil)
    #expect(try read(nested(17)).kind == Self.transient)
    #expect(try read(#"{\#(Self.good),"x":"\#(String(repeating: "[", count: 100))\\\"{{{"}"#).kind == nil)
    #expect(try read(String(repeating: "[", count: 60_000)).kind == Self.transient)
    let padding = String(repeating: " ", count: TokenResponse.longestBody - Self.good.utf8.count - 2)
    #expect(try read("{\(Self.good)\(padding)}").kind == nil)
    #expect(try read("{\(Self.good)\(padding) }").kind == Self.transient)
  }

  @Test func `T60: a response with many thousands of values is refused`() throws {
    func list(_ count: Int) -> String {
      "{\(Self.good),\"x\":[\(Array(repeating: "1", count: count).joined(separator: ","))]}"
    }
    #expect(try read(list(8_000)).kind == nil)
    #expect(try read(list(9_000)).kind == Self.transient)
  }

  @Test(
    arguments: [
      ("application/json", true), ("application/json;charset=UTF-8", true), ("Application/JSON ; charset=utf-8", true),
      ("application/problem+json", true), ("application/json, application/json", false), ("text/json", true),
      ("text/html", true), ("text/html; x=application/json", true), ("application/jsonx", false),
      ("application/x-www-form-urlencoded", true), ("text/plain;charset=utf-8", true), ("", true), (nil, true),
      ("application/octet-stream", false), ("image/png", false), ("text/xml", false),
    ] as [(String?, Bool)])
  func `a JSON object is read with the content types that servers use for it`(_ type: String?, _ isRead: Bool) throws {
    #expect((try read("{\(Self.good)}", contentType: type).kind == nil) == isRead)
  }

  @Test(arguments: [("identity", true), ("", true), ("gzip", false), ("identity, br", false)])
  func `a compressed response is refused`(_ coding: String, _ isRead: Bool) throws {
    #expect((try read("{\(Self.good)}") { $0.contentEncoding = coding }.kind == nil) == isRead)
  }
}
