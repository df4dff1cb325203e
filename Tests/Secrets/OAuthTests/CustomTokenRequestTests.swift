import Credentials
import Secrets
import OAuth
import Policy
import Settings
import TestSupport
import Testing

/// Token requests for servers that need more than RFC 6749: a query, header fields, JSON, or a grant of their own.
@Suite struct CustomTokenRequestTests {
  private static let secret = FieldValue.secret(somewhere)

  @Test func `the query of an endpoint is sent and shown unchanged`() throws {
    var source = try source()
    source.endpoint = try Endpoint(parsingWithQuery: "https://login.example.com/token?p=B2C_1_x&a=%2f/?:@")
    #expect(try rendered(source).head[0] == "POST /token?p=B2C_1_x&a=%2f/?:@ HTTP/1.1")
    #expect(source.endpoint.description == "https://login.example.com/token?p=B2C_1_x&a=%2f/?:@")
    #expect(source.endpoint.parameterNames == ["p", "a"])
    let short = try Endpoint(parsingWithQuery: "https://login.example.com?x")
    #expect(short.description == "https://login.example.com/?x")
  }

  @Test(arguments: [
    "?a#b", "#b", "?a b", "?a\r\nb", "?ü", "?a\"", "?a[0]=1", "?" + String(repeating: "a", count: 2048),
  ]) func `a query has only characters of a URI, and at most 2048 bytes`(_ query: String) {
    #expect(throws: PolicySyntaxError.self) { try Endpoint(parsingWithQuery: "https://a.example.com/token" + query) }
  }

  @Test func `additional header fields are sent, and replace Accept and User-Agent`() throws {
    var source = try source(.clientCredentials, .basic(somewhere))
    source.headers = [
      LoginForm.Field("ACCEPT", .plain("application/x")), LoginForm.Field("User-agent", .plain("mine")),
      LoginForm.Field("Ocp-Apim-Subscription-Key", Self.secret),
    ]
    #expect(source.sources.map(\.role) == [.clientSecret, .header(2)])
    let head = try rendered(source, .token, [.clientSecret: "cs-1", .header(2): "k 1"]).head
    #expect(
      head == [
        "POST /oauth2/token HTTP/1.1", "Host: login.example.com", "Authorization: Basic YmVhcmVyZDpjcy0x",
        "Accept-Encoding: identity", "ACCEPT: application/x", "User-agent: mine", "Ocp-Apim-Subscription-Key: k 1",
        "Content-Type: application/x-www-form-urlencoded", "Content-Length: 29", "Connection: close",
      ])
    source.revocation = source.endpoint
    let revocation = try rendered(
      source, .revocation(.accessToken), [.clientSecret: "c", .header(2): "k", .revokedToken: "t"])
    #expect(revocation.head.contains("Ocp-Apim-Subscription-Key: k"))
  }

  @Test(arguments: ["", "a\r\nX: y", "a\n", "\u{0}", "ü", "a\u{7F}"])
  func `a secret cannot begin another header field`(_ value: String) throws {
    var source = try source()
    source.headers = [LoginForm.Field("X-Key", Self.secret)]
    let sentence = try #require(try problem(source, .token, [.header(0): value]))
    #expect(sentence.contains("X-Key"))
  }

  @Test func `a parameter may be a secret`() throws {
    var source = try source()
    source.parameters = [LoginForm.Field("tenant", .plain("acme")), LoginForm.Field("apikey", Self.secret)]
    #expect(source.sources.map(\.role) == [.parameter(1)])
    let body = try rendered(source, .token, [.parameter(1): "a&b="]).body
    #expect(body == "grant_type=client_credentials&tenant=acme&apikey=a%26b%3D&client_id=bearerd")
  }

  @Test func `a JSON body has the same parameters as strings, and arrays for repeated names`() throws {
    var source = try source(.clientCredentials, .post(somewhere))
    source.encoding = .json
    (source.scope, source.resource) = (["a", "b"], ["https://a.example.com", "https://b.example.com"])
    (source.audience, source.parameters) = (["x"], [LoginForm.Field("q\"", Self.secret)])
    let (head, body) = try rendered(source, .token, [.clientSecret: "s\"\\\n", .parameter(0): "ü"])
    #expect(head.contains("Content-Type: application/json") && head.contains("Content-Length: \(body.utf8.count)"))
    #expect(
      body == #"{"grant_type":"client_credentials","scope":"a b","#
        + #""resource":["https://a.example.com","https://b.example.com"],"audience":"x","q\"":"ü","#
        + #""client_id":"bearerd","client_secret":"s\"\\\u000a"}"#)
    source.revocation = source.endpoint
    let revocation = try rendered(source, .revocation(.accessToken), [.clientSecret: "s", .revokedToken: "t"])
    #expect(revocation.head.contains("Content-Type: application/x-www-form-urlencoded"))
    #expect(revocation.body == "token=t&token_type_hint=access_token&client_id=bearerd&client_secret=s")
    let secrets = TokenSecrets()
    secrets.put(.clientSecret, try OAuthTests.secret([0xFF]))
    secrets.put(.parameter(0), try OAuthTests.secret([0x61]))
    #expect(throws: SecretProblem.self) {
      _ = try TokenRequest.render(source, .token, secrets, at: moment, in: arena)
    }
  }

  @Test func `basic_raw sends id and secret without form encoding`() throws {
    let source = try source(.clientCredentials, id: "1PpG/Q 1", .basicRaw(somewhere))
    let (head, body) = try rendered(source, .token, [.clientSecret: "z/tZ9+Vw:u=%24"])
    #expect(head[2] == "Authorization: Basic MVBwRy9RIDE6ei90WjkrVnc6dT0lMjQ=")
    #expect(body == "grant_type=client_credentials")
  }

  @Test func `invalid_client names the other encoding of Basic`() throws {
    let body = #"{"error":"invalid_client"}"#
    for (authentication, word) in [
      (.basic(somewhere), "basic_raw"), (.basicRaw(somewhere), "client_auth: basic"), (.post(somewhere), nil),
    ] as [(TokenClient.Authentication, String?)] {
      let source = try source(.clientCredentials, authentication)
      guard case .refused(.misconfigured, .invalidClient, let sentence) = try read(body, status: 401, of: source) else {
        Issue.record("not refused")
        continue
      }
      if let word { #expect(sentence.hasSuffix(word)) } else { #expect(!sentence.contains("basic")) }
    }
  }

  @Test func `a custom grant sends its type and its parameters`() throws {
    var source = try source(.custom(type: "urn:ibm:params:oauth:grant-type:apikey"), id: "")
    source.parameters = [LoginForm.Field("apikey", Self.secret)]
    #expect(
      try rendered(source, .token, [.parameter(0): "k"]).body
        == "grant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey&apikey=k")
    for name in ["username", "assertion", "refresh_token"] {
      source.parameters = [LoginForm.Field(name, .plain("x"))]
      #expect(try problem(source) == nil, "\(name)")
    }
    for name in ProtocolParameters.namesOfCustomGrant {
      source.parameters = [LoginForm.Field(name, .plain("x"))]
      #expect(try problem(source) != nil, "\(name)")
    }
  }

  /// https://docs.github.com/en/apps: an installation token.
  @Test func `a signed JWT authenticates a client without other claims`() throws {
    let key = SigningKeySource(somewhere)
    for (audience, claim) in [(nil, ""), ("https://a", #","aud":"https://a""#)] as [(String?, String)] {
      let source = try source(.custom(type: nil), id: "Iv1.abc", .privateKeyBearer(key, audience: audience))
      #expect(source.sources.map(\.role) == [.clientKey])
      let (head, body) = try rendered(source, .token, [.clientKey: KnownKeys.rsa])
      #expect(body == "" && head.contains("Content-Length: 0"))
      #expect(!head.contains { $0.hasPrefix("Content-Type") })
      let prefix = "Authorization: Bearer "
      let parts = try #require(head.first { $0.hasPrefix(prefix) }).dropFirst(prefix.count).split(separator: ".")
      #expect(parts.count == 3)
      let claims = String(decoding: try #require(octets(String(parts[1]))), as: UTF8.self)
      #expect(claims == #"{"iss":"Iv1.abc"\#(claim),"iat":1699999940,"exp":1700000180}"#)
    }
  }
}
