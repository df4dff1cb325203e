import Credentials
@_spi(SecretBytes) import Secrets
@testable import OAuth
import Policy
import Settings
import Testing

/// The bytes of token requests.
@Suite struct TokenRequestTests {
  @Test func `a token request has exactly the expected fields`() throws {
    let request = try TokenRequest.render(
      try source(.clientCredentials, .post(somewhere)), .token, try secrets([.clientSecret: "ü"]), at: moment,
      in: arena)
    let body = "grant_type=client_credentials&client_id=bearerd&client_secret=%C3%BC"
    let text = request.bytes.withBytes { String(decoding: $0, as: UTF8.self) }
    #expect(
      text == """
        POST /oauth2/token HTTP/1.1\r
        Host: login.example.com\r
        Accept: application/json\r
        Accept-Encoding: identity\r
        User-Agent: bearerd\r
        Content-Type: application/x-www-form-urlencoded\r
        Content-Length: \(body.utf8.count)\r
        Connection: close\r
        \r
        \(body)
        """)
    #expect(request.endpoint.origin == (try Origin(parsing: "https://login.example.com")))
  }

  @Test func `the Host field contains a port other than 443`() throws {
    var source = try source()
    source.endpoint = try Endpoint(parsing: "https://[2001:db8::1]:8443/t")
    let head = try rendered(source).head
    #expect(head.prefix(2) == ["POST /t HTTP/1.1", "Host: [2001:db8::1]:8443"])
  }

  @Test(
    arguments: [
      (.none, "", "client_id=bearerd"),
      (.basic(somewhere), "Authorization: Basic YmVhcmVyZDpjcy0x", ""),
      (.post(somewhere), "", "client_id=bearerd&client_secret=cs-1"),
    ] as [(TokenClient.Authentication, String, String)])
  func `a client authenticates by its id, by Basic or by a secret in the body`(
    _ authentication: TokenClient.Authentication, _ line: String, _ fields: String
  ) throws {
    let (head, body) = try rendered(try source(.clientCredentials, authentication), .token, [.clientSecret: "cs-1"])
    #expect(head.filter { $0.hasPrefix("Authorization") } == (line.isEmpty ? [] : [line]))
    #expect(body == "grant_type=client_credentials" + (fields.isEmpty ? "" : "&" + fields))
  }

  /// RFC 6749 section 2.3.1.
  @Test func `client id and secret are form-encoded before they are encoded as Basic`() throws {
    let source = try source(.clientCredentials, id: "my:app", .basic(somewhere))
    let head = try rendered(source, .token, [.clientSecret: "s%c r+t"]).head
    #expect(head.contains("Authorization: Basic bXklM0FhcHA6cyUyNWMlMjByJTJCdA=="))
  }

  @Test(arguments: [
    ("a&b=c+d%e ü", "a%26b%3Dc%2Bd%25e+%C3%BC"), ("a%2Bb%", "a%252Bb%25"), ("p@ss:w/ord", "p%40ss%3Aw%2Ford"),
    ("😀", "%F0%9F%98%80"), ("a b", "a+b"), ("~-._*", "%7E-._*"), ("AZaz09", "AZaz09"), ("\u{0}\r\n", "%00%0D%0A"),
  ])
  func `special characters are form-encoded`(_ raw: String, _ encoded: String) throws {
    let source = try source(.password(user: .plain(raw), password: somewhere))
    let body = try rendered(source, .token, [.password: raw]).body
    #expect(body == "grant_type=password&username=\(encoded)&password=\(encoded)&client_id=bearerd")
  }

  @Test func `bytes that are not UTF-8 are sent unchanged`() throws {
    let secrets = TokenSecrets()
    secrets.put(.refreshToken, try secret(0...255))
    let request = try TokenRequest.render(
      try source(.refreshToken(first: nil)), .token, secrets, at: moment, in: arena)
    let body = request.bytes.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "&")[1]
    let decoded = Array(body.dropFirst("refresh_token=".count).utf8)
    var bytes: [UInt8] = []
    var index = 0
    while index < decoded.count {
      switch decoded[index] {
      case UInt8(ascii: "%"):
        bytes.append(
          try #require(UInt8(String(decoding: decoded[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)))
        index += 3
      case let byte:
        bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
        index += 1
      }
    }
    #expect(bytes == Array(0...255))
  }

  @Test func `each grant type has its own fields`() throws {
    var exchange = TokenExchange(subject: somewhere)
    exchange.actor = somewhere
    exchange.requestedType = "urn:x:y"
    let all: [TokenSecrets.Role: String] = [
      .refreshToken: "rt", .subjectToken: "st", .actorToken: "at", .userName: "un", .password: "pw", .deviceCode: "dc",
      .code: "co", .codeVerifier: "cv", .revokedToken: "rv",
    ]
    let id = "&client_id=bearerd"
    let type = "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
    let body = { (grant: TokenGrantKind) in try rendered(source(grant), .token, all).body }
    #expect(try body(.refreshToken(first: somewhere)) == "grant_type=refresh_token&refresh_token=rt" + id)
    #expect(
      try body(.password(user: .secret(somewhere), password: somewhere))
        == "grant_type=password&username=un&password=pw" + id)
    #expect(
      try body(.tokenExchange(TokenExchange(subject: somewhere, subjectType: "urn:a b")))
        == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=st&subject_token_type=urn%3Aa+b"
        + id)
    #expect(
      try body(.tokenExchange(exchange))
        == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=st&subject_token_type=\(type)"
        + "&actor_token=at&actor_token_type=\(type)&requested_token_type=urn%3Ax%3Ay" + id)

    var login = try source(.refreshToken(first: nil))
    login.deviceAuthorization = try Endpoint(parsing: "https://login.example.com/device")
    login.revocation = try Endpoint(parsing: "https://login.example.com/revoke")
    login.scope = ["a"]
    let device = try rendered(login, .deviceAuthorization, all)
    #expect(device.head[0] == "POST /device HTTP/1.1")
    #expect(device.body == "scope=a" + id)
    #expect(
      try rendered(login, .deviceToken, all).body
        == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dc" + id)
    #expect(
      try rendered(login, .code(redirectURI: "http://127.0.0.1:4/cb"), all).body
        == "grant_type=authorization_code&code=co&redirect_uri=http%3A%2F%2F127.0.0.1%3A4%2Fcb&code_verifier=cv" + id)
    let revocation = try rendered(login, .revocation(.refreshToken), all)
    #expect(revocation.head[0] == "POST /revoke HTTP/1.1")
    #expect(revocation.body == "token=rv&token_type_hint=refresh_token" + id)
  }

  @Test func `scope is one field, each resource and audience is a field, and parameters follow`() throws {
    var source = try source()
    source.scope = ["mail.read", "mail send"]
    source.resource = ["https://a.example.com/x", "https://b.example.com"]
    source.audience = ["api", "b&c"]
    source.parameters = [LoginForm.Field("tenant", .plain("acme & co")), LoginForm.Field("xy", .plain("="))]
    #expect(
      try rendered(source).body
        == "grant_type=client_credentials&scope=mail.read+mail+send&resource=https%3A%2F%2Fa.example.com%2Fx"
        + "&resource=https%3A%2F%2Fb.example.com&audience=api&audience=b%26c&tenant=acme+%26+co&xy=%3D&client_id=bearerd"
    )
  }

  @Test(arguments: ["grant_type", "client_secret", "Client_ID", "assertion", "scope", "redirect_uri", "", "a b", "ü"])
  func `a parameter cannot replace a field of the protocol`(_ name: String) throws {
    #expect(ProtocolParameters.problem(ofParameter: name) != nil)
    var source = try source()
    source.parameters = [LoginForm.Field(name, .plain("x"))]
    #expect(try problem(source) != nil)
    source.parameters = [LoginForm.Field("tenant", .plain("x"))]
    #expect(try problem(source) == nil)
  }

  @Test func `every field that bearerd writes is refused as a parameter`() throws {
    var source = try source(.tokenExchange(TokenExchange(subject: somewhere)), .post(somewhere))
    (source.scope, source.resource, source.audience) = (["a"], ["https://r"], ["b"])
    let body = try rendered(source, .token, [.clientSecret: "c", .subjectToken: "s"]).body
    for field in body.split(separator: "&") {
      let name = String(field.prefix { $0 != "=" })
      #expect(ProtocolParameters.problem(ofParameter: name) != nil, "\(name)")
    }
  }

  private static let roles: [TokenSecrets.Role] = [
    .clientSecret, .clientKey, .assertionKey, .passphrase, .refreshToken, .subjectToken, .actorToken, .userName,
    .password,
    .deviceCode, .code, .codeVerifier, .revokedToken, .field(1), .consumerKey, .requestToken, .requestTokenSecret,
    .verifier, .parameter(0), .header(0),
  ]

  @Test(arguments: roles)
  func `a missing secret is named, and no request is made`(_ role: TokenSecrets.Role) throws {
    var exchange = TokenExchange(subject: somewhere)
    exchange.actor = somewhere
    let key = SigningKeySource(somewhere)
    let client = OAuth1Client(consumerKey: .secret(somewhere), consumerSecret: somewhere)
    let oauth1 = TokenGrantKind.oauth1(
      OAuth1Login(client: client, requestToken: try Endpoint(parsing: "https://login.example.com/request")))
    let fields = ["a", "b"].map { LoginForm.Field($0, .secret(somewhere)) }
    var (source, purpose): (TokenSource, TokenRequest.Purpose) =
      switch role {
      case .clientSecret: (try source(.clientCredentials, .basic(somewhere)), .token)
      case .clientKey: (try source(.clientCredentials, .privateKeyJWT(key, audience: nil)), .token)
      case .assertionKey: (try source(.jwtBearer(TokenAssertion(key: key))), .token)
      case .passphrase:
        (try source(.jwtBearer(TokenAssertion(key: SigningKeySource(somewhere, passphrase: somewhere)))), .token)
      case .refreshToken: (try source(.refreshToken(first: nil)), .token)
      case .subjectToken, .actorToken: (try source(.tokenExchange(exchange)), .token)
      case .userName, .password: (try source(.password(user: .secret(somewhere), password: somewhere)), .token)
      case .deviceCode: (try source(), .deviceToken)
      case .code, .codeVerifier: (try source(), .code(redirectURI: "http://127.0.0.1:1/"))
      case .revokedToken: (try source(), .revocation(.accessToken))
      case .consumerKey: (try source(oauth1), .requestToken(callback: "http://127.0.0.1:1/"))
      case .requestToken, .requestTokenSecret, .verifier: (try source(oauth1), .oauth1Token)
      case .parameter, .header: (try source(), .token)
      case .field: (try source(.form(LoginForm(encoding: .json, fields: fields, extractedValue: .cookie("c")))), .token)
      }
    source.revocation = source.endpoint
    if role == .parameter(0) { source.parameters = [LoginForm.Field("a", .secret(somewhere))] }
    if role == .header(0) { source.headers = [LoginForm.Field("A", .secret(somewhere))] }
    var all = Dictionary(uniqueKeysWithValues: (Self.roles + [.field(0)]).map { ($0, "x") })
    all[role] = nil
    let sentence = try #require(try problem(source, purpose, all))
    #expect(sentence.hasPrefix("mail has no "), "\(sentence)")
  }

  @Test func `a request without a configured endpoint is refused`() throws {
    #expect(try problem(try source(), .revocation(.accessToken), [.revokedToken: "x"]) != nil)
    #expect(try problem(try source(), .deviceAuthorization) != nil)
  }

  @Test(arguments: [
    "http://login.example.com/token", "http://127.0.0.1/token", "https://u:p@login.example.com/token",
    "https://login.example.com/token?x=1", "https://login.example.com/token#x", "https://login.example.com/a/../token",
    "https://login.example.com/%2e%2e/token", "https://login.example.com/to ken", "https://login.example.com/tok\r\nen",
    "https://login.example.com/%0d%0a", "login.example.com/token", "https:///token",
  ])
  func `an endpoint is a normalized https URL without user, query and fragment`(_ text: String) {
    #expect(throws: PolicySyntaxError.self) { try Endpoint(parsing: text) }
  }

  @Test func `an endpoint is printed in lower case, without the default port`() throws {
    #expect(
      try Endpoint(parsing: "https://Login.example.com:443/a/b%20c").description == "https://login.example.com/a/b%20c")
    #expect(try Endpoint(parsing: "https://login.example.com:8443").description == "https://login.example.com:8443/")
  }
}
