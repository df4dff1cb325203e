import Gateway
import HTTP1
import Policy
import Testing

/// Credentials of the client do not reach the upstream (T14, T45).
@Suite struct ClientCredentialTests {
  @Test(arguments: [
    "Authorization: Bearer evil", "authorization: Bearer evil", "AUTHORIZATION: Bearer evil",
    "aUTHORIZATION:Bearer evil",
    "X-Mine: evil", "x-mine: evil", "X_Mine: evil", "x_mine: evil", "X_MINE: evil", "X-Api-Key: evil",
    "X_Api_Key: evil",
    "x_api-key: evil", "Cookie: s=evil", "Private-Token: evil", "private_token: evil", "Proxy-Authorization: evil",
    "Proxy_Authorization: evil", "Content_Length: 5", "Transfer_Encoding: chunked",
    "X.Mine: evil", "X~Mine: evil", "X!Mine: evil", "x'mine: evil", "X.Api.Key: evil", "X~Api~Key: evil",
    "X!Api!Key: evil", "Content.Length: 5", "Transfer.Encoding: chunked", "Keep!Alive: 5", "Proxy.Connection: close",
    "Proxy.Authorization: evil", "Proxy: http://evil.test", "PROXY: http://evil.test",
  ])
  func `fields that resemble a credential are removed`(line: String) throws {
    let edited = try snapshot(fields: ["authorization", "x-mine"])
    let played = exchange(get(line, line, "X-Kept: 1"), ok(), edited)
    #expect(head(played.request).dropFirst(2) == ["X-Kept: 1", "<credential>"])
    #expect(played.log == ["open", "release", "record"])
  }

  @Test(arguments: [
    "Authorization : Bearer evil", "X-A: 1\r\n Authorization: evil", "Authori\tzation: x", "Authoriz\u{e4}tion: x",
    "Authorization\0: x", ": evil", "Authorization",
  ])
  func `malformed field lines are refused`(line: String) throws {
    let played = exchange(get(line), nil, try snapshot())
    #expect(status(played.response) == "400" && played.sessions.isEmpty && played.isOver)
  }

  @Test(arguments: [
    "Sudo: root", "X-Goog-User-Project: other", "Stripe-Account: other", "Impersonate-User: root",
    "Impersonate.User: root", "X.Forwarded.User: root", "X.Http.Method.Override: DELETE", "X-Redmine-Switch-User: root",
    "X-Impersonate-User: root", "impersonate_group: admin", "X-HTTP-Method-Override: DELETE",
    "X-Method-Override: DELETE",
    "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X-Forwarded-Host: evil.test", "X-Forwarded-For: 1.2.3.4",
    "Forwarded: host=evil.test", "X-Real-IP: 1.2.3.4", "x_forwarded_host: evil.test",
  ])
  func `fields that switch the user or account are removed`(line: String) throws {
    let played = exchange(get(line, "X-Kept: 1"), nil, try snapshot())
    #expect(head(played.request).dropFirst(2) == ["X-Kept: 1", "<credential>"])
  }

  @Test(arguments: [
    "X-Mine: evil", "x_mine: evil", "X-Auth-Key: evil", "Token: evil", "X-Webauth-User: root", "X-Set: evil",
  ])
  func `request trailers with a credential are removed`(line: String) throws {
    let edited = try snapshot(fields: ["x-mine"]) { $0.headers.set = [.init(name: "X-Set", value: [0x31])] }
    let body = "1\r\na\r\n0\r\n\(line)\r\nX-Sum: 1\r\n\r\n"
    let played = exchange(get("Transfer-Encoding: chunked", method: "POST") + body, ok(), edited)
    #expect(played.request.hasSuffix("\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"))
  }

  @Test func `allowed client fields are forwarded`() throws {
    let edited = try snapshot { $0.headers.allowClientHeaders = ["x-api-key", "authorization"] }
    let played = exchange(get("X_Api_Key: mine", "Authorization: evil", "Sudo: no"), nil, edited)
    #expect(head(played.request).dropFirst(2) == ["X_Api_Key: mine", "<credential>"])
  }

  @Test func `credential: none removes client credentials and adds none, also after another request`() throws {
    var played = Conversation(
      try snapshot { service in
        service.rules = [
          Rule(
            pattern: try! URLPattern(parsing: "/open"), methods: .every, action: .forward(.none),
            headers: HeaderPolicy(),
            description: nil, line: 1),
          Rule(
            pattern: try! URLPattern(parsing: "/**"), methods: .every, action: .forward(.inject(0)),
            headers: HeaderPolicy(),
            description: nil, line: 2),
        ]
      })
    played.client(get(target: "/api/x"))
    played.upstream(ok())
    #expect(played.request.contains("<credential>"))
    played.client(get("Authorization: Bearer mine", "Cookie: a=b", target: "/api/open?access_token=x"))
    #expect(played.request == "GET /base/open HTTP/1.1\r\nHost: up.test\r\n\r\n")
  }

  @Test func `organization and project headers of OpenAI are forwarded`() throws {
    let lines = ["OpenAI-Organization: org", "OpenAI-Project: p", "openai_project: p"]
    let played = exchange(get(lines[0], lines[1], lines[2]), nil, try snapshot())
    #expect(Array(head(played.request).dropFirst(2)) == lines + ["<credential>"])
  }

  @Test func `the Proxy field is always removed (httpoxy)`() throws {
    for credential in [CredentialChoice.inject(0), .none, .pass] {
      let played = exchange(get("Proxy: evil", "proxy: evil"), nil, try snapshot(credential: credential))
      #expect(!played.request.contains("evil"), "\(credential)")
    }
  }

  @Test func `the record names removed fields, except replaced credentials and hop-by-hop fields`()
    throws
  {
    func removed(_ request: String, _ credential: CredentialChoice = .inject(0)) throws -> String {
      let edited = try snapshot(credential: credential) {
        $0.headers.remove = ["x-secret"]
        $0.headers.removeParameters = ["api-key"]
      }
      let played = exchange(request, ok(), edited)
      return played.records.last?.removed.description(under: edited.rules.services[0].headers) ?? "none"
    }
    #expect(try removed(get("Authorization: x", "X-Kept: 1")) == "")
    #expect(
      try removed(
        get(
          "Authorization: x", "X_Api.Key: x", "Sudo: y", "SUDO: z", "Connection: X-Hop", "X-Hop: 1", "X-Secret: 1",
          "Proxy: 1", "Content_Length: 2", "Upgrade: x", "Impersonate-Any: y",
          target: "/api/x?_HttpMethod=DELETE&a=b&api_key=named"))
        == "x-api-key,impersonate-*,sudo,_httpmethod,proxy,content-length,upgrade,x-secret,api-key")
    #expect(
      try removed(get("Authorization: x", "Proxy-Authorization: y"), .none) == "authorization,proxy-authorization")
    #expect(try removed(get("Authorization: x", "Sudo: y"), .pass) == "")
    // A record contains nothing of the previous request.
    var played = exchange(get("Sudo: x"), ok(), try snapshot())
    played.client(get())
    played.upstream(ok())
    #expect(played.records.map { $0.removed.description(under: nil) } == ["sudo", ""])
  }

  @Test func `credential: pass forwards the client's own credentials`() throws {
    let line = ["Authorization: Bearer mine", "Cookie: a=b", "X-Api-Key: k", "Sudo: me"]
    let played = exchange(
      get(line[0], line[1], line[2], line[3], target: "/api/x?access_token=t"), nil, try snapshot(credential: .pass))
    #expect(head(played.request) == ["GET /base/x?access_token=t HTTP/1.1", "Host: up.test"] + line)
  }

  @Test(arguments: [
    (HeaderPolicy.OnClientHeader.replace, ["Authorization: evil"], ["<credential>"]),
    (.keep, ["Authorization: mine"], ["Authorization: mine"]), (.keep, ["X-Other: 1"], ["X-Other: 1", "<credential>"]),
    (.keep, ["authorization: mine", "X-Api-Key: evil"], ["authorization: mine"]),
    (.reject, ["X-Other: 1"], ["X-Other: 1", "<credential>"]),
  ])
  func `on_client_header decides between the client's credential and bearerd's`(
    policy: HeaderPolicy.OnClientHeader, lines: [String], sent: [String]
  ) throws {
    let request = get(lines.joined(separator: "\r\n"))
    let played = exchange(request, nil, try snapshot { $0.headers.onClientHeader = policy })
    #expect(head(played.request).dropFirst(2) == sent[...])
  }

  @Test(arguments: [
    (HeaderPolicy.OnClientHeader.reject, "Authorization: evil"), (.reject, "authorization: evil"),
    (.keep, "Authorization: one\r\nAuthorization: two"), (.keep, "Authorization: one\r\nauthorization: two"),
  ])
  func `rejected and repeated client credentials are refused`(policy: HeaderPolicy.OnClientHeader, lines: String) throws
  {
    let played = exchange(get(lines), nil, try snapshot { $0.headers.onClientHeader = policy })
    #expect(status(played.response) == "400" && played.response.contains("client-credential-field"))
    #expect(played.sessions.isEmpty)
  }
}

/// Query parameters with credentials are removed, in every spelling that a server could read (T13, T45).
@Suite struct QueryParameterTests {
  @Test(arguments: [
    ("?access_token=evil", ""), ("?a=1&access_token=evil", "?a=1"), ("?access_token=evil&a=1", "?a=1"),
    ("?a=1;api_key=evil;b=2", "?a=1;b=2"), ("?api%5Fkey=evil&b", "?b"),
    ("?%61ccess_token=x&access_token=y&z=1", "?z=1"),
    ("?ACCESS_TOKEN=evil", ""), ("?access-token", ""), ("?access.token=evil", ""),
    ("?access+token=evil&q=a+b", "?q=a+b"),
    ("?access_token[]=evil&x[]=1", "?x%5B%5D=1"), ("?access%5Ftoken%5B0%5D=evil", ""), ("?+access_token=evil", ""),
    ("?access_token%00x=evil", ""), ("?sudo=root&_method=DELETE&k=v", "?k=v"), ("?api-key=1&&x", "?&x"),
    ("?[sudo]=a&]sudo=b&sudo]=c&[[sudo]]=d&k", "?k"), ("?%5Bsudo%5D=a", ""),
    ("?access[token=x&access%5Btoken=y&k", "?k"),
    ("?acc%u0065ss_token=x&a", "?a"), ("?x[sudo]=1&%u=1&%u00", "?x%5Bsudo%5D=1&%u=1&%u00"),
    ("?", "?"), ("?key=kept&token=kept", "?key=kept&token=kept"), ("?q=access_token", "?q=access_token"),
    ("?%=1&%4=2&%zz", "?%=1&%4=2&%zz"), ("?xaccess_token=1", "?xaccess_token=1"),
    ("?_HttpMethod=DELETE", ""), ("?%24httpMethod=DELETE&a=1", "?a=1"),
    ("?$httpHeaders=X-HTTP-Method-Override:PUT", ""),
    ("?x-http-method-override=DELETE;b", "?b"), ("?X-HTTP-Method=DELETE&x.http.method=PUT", ""),
    ("?method_override=DELETE&method=kept", "?method=kept"), ("?doAs=root&$key=k&client_secret=s&userProject=p", ""),
    ("?$filter=a&_key=b", "?$filter=a&_key=b"),
  ])
  func `query parameters with a credential are removed`(query: String, sent: String) throws {
    let played = exchange(get(target: "/api/x\(query)"), nil, try snapshot())
    #expect(head(played.request).first == "GET /base/x\(sent) HTTP/1.1")
  }

  @Test(arguments: [
    ("?key=evil", ""), ("?a=1&KEY=evil&b", "?a=1&b"), ("?k%65y=evil", ""), ("?key[]=evil&keys=1", "?keys=1"),
    ("?%6Bey=evil;key=evil;x=1", "?x=1"), ("?+key=evil", ""), ("?x-auth=evil&x_auth=evil&x.auth=evil&X%2DAuth", ""),
    ("?xkey=1&key2=2&q=key", "?xkey=1&key2=2&q=key"), ("?%24filter=1&$filter=2&filter=3", "?filter=3"), ("?", "?"),
    ("?key%00=evil", ""), ("?=key", "?=key"),
  ])
  func `T13: configured query parameters are removed, whatever credential the request has`(
    query: String, sent: String
  ) throws {
    for credential in [CredentialChoice.inject(0), .none, .pass] {
      let named = try snapshot(credential: credential) { $0.headers.removeParameters = ["key", "x-auth", "$filter"] }
      let played = exchange(get(target: "/api/x\(query)"), nil, named)
      #expect(head(played.request).first == "GET /base/x\(sent) HTTP/1.1", "\(credential)")
    }
  }

  @Test func `T13: with credential: pass, only configured query parameters are removed`() throws {
    let named = try snapshot(credential: .pass) { $0.headers.removeParameters = ["key"] }
    let played = exchange(get(target: "/api/x?key=1&access_token=mine"), nil, named)
    #expect(head(played.request).first == "GET /base/x?access_token=mine HTTP/1.1")
  }
}

/// Client tokens never reach the upstream.
@Suite struct ClientTokenForwardingTests {
  private static let token = "bearerd_" + String(repeating: "A", count: 43)
  private static let lines = [
    "Authorization: Bearer \(token)", "X-Api-Key: \(token)", "x_api_key: \(token)",
    "Authorization: Basic \(Base64Text.of("x:\(token)"))",
  ]

  private func snapshot(_ credential: CredentialChoice = .inject(0), edit: (inout Service) -> Void) throws
    -> Snapshot
  {
    let plain = try GatewayTests.snapshot(credential: credential) { edit(&$0) }
    let digest = TokenDigest([UInt8](repeating: 1, count: 32).span)
    let clients = [Client(name: "ci", digests: [digest].compactMap { $0 })]
    return Snapshot(
      generation: 1, rules: plain.rules,
      admissions: plain.admissions.map {
        Admission(callers: $0.callers, authorities: $0.authorities, clients: clients)
      }, headLimits: plain.headLimits, ownAuthorities: plain.ownAuthorities, tokenHash: { _ in digest })
  }

  @Test(arguments: lines) func `T6: client tokens are removed under every policy`(line: String) throws {
    let policies: [(CredentialChoice, (inout Service) -> Void)] = [
      (.inject(0), { _ in }), (.none, { _ in }), (.pass, { _ in }),
      (.inject(0), { $0.headers.allowClientHeaders = ["x-api-key", "authorization"] }),
      (.none, { $0.headers.allowClientHeaders = ["x-api-key", "authorization"] }),
      (.inject(0), { $0.headers.onClientHeader = .keep }), (.inject(0), { $0.headers.onClientHeader = .reject }),
    ]
    for (credential, edit) in policies {
      let played = exchange(get(line, "X-Kept: 1"), ok(), try snapshot(credential, edit: edit))
      let added = credential == .inject(0) ? ["<credential>"] : []
      #expect(Array(head(played.request).dropFirst(2)) == ["X-Kept: 1"] + added, "\(credential)")
      #expect(played.records.first?.caller?.client == "ci")
      let field = line.hasPrefix("Authorization") ? "authorization" : "x-api-key"
      #expect(played.records.first?.removed.description(under: nil) == field)
    }
  }

  @Test func `T6: next to a client token, the client's own credential is still forwarded or refused`() throws {
    let mine = "Authorization: Bearer mine"
    let passed = exchange(get(Self.lines[1], mine), ok(), try snapshot(.pass) { _ in })
    #expect(head(passed.request).dropFirst(2) == [mine])
    let kept = exchange(get(Self.lines[1], mine), ok(), try snapshot { $0.headers.onClientHeader = .keep })
    #expect(head(kept.request).dropFirst(2) == [mine])
    let rejected = exchange(get(Self.lines[1], mine), nil, try snapshot { $0.headers.onClientHeader = .reject })
    #expect(status(rejected.response) == "400")
  }

  private static let left: [(line: String, target: String)] = [
    ("X-Other: \(token)", "/api/x"), ("X-Other: a=\(token)A; b", "/api/x"),
    ("Referer: http://localhost/?k=\(token)", "/api/x"),
    ("Referer: http://localhost/?k=%62earerd%5F\(token.dropFirst(8))", "/api/x"), ("\(token): x", "/api/x"),
    ("X-Kept: 1", "/api/bot\(token)/getMe"), ("X-Kept: 1", "/api/%62earerd_\(token.dropFirst(8))"),
    ("X-Kept: 1", "/api/x?key=\(token)"), ("X-Kept: 1", "/api/x?a=1&key=%62earerd_\(token.dropFirst(8))&b"),
    ("X-Kept: 1", "/api/x?\(token)"), ("Sec-WebSocket-Protocol: chat, x\(token)", "/api/x"),
    ("Sec-WebSocket-Protocol: chat, \(token).x", "/api/x"),
  ]

  @Test(arguments: left)
  func `T6: a client token in another field or in the URL is refused`(line: String, target: String) throws {
    for credential in [CredentialChoice.inject(0), .none, .pass] {
      let played = exchange(get(Self.lines[0], line, target: target), ok(), try snapshot(credential) { _ in })
      #expect(status(played.response) == "400" && played.response.contains("client-token-left"), "\(credential)")
      #expect(played.sessions.isEmpty && !played.response.contains(Self.token.suffix(43)))
    }
  }

  @Test func `T6: a client token is refused only where the request would forward the token`() throws {
    let own = "Authorization: Token token=\"\(Self.token)\""
    let cookie = "Cookie: a=\(Self.token)"
    let rows: [(String, String, CredentialChoice, (inout Service) -> Void, goesUp: Bool)] = [
      (own, "/api/x", .inject(0), { _ in }, false), (own, "/api/x", .pass, { _ in }, true),
      (cookie, "/api/x", .inject(0), { _ in }, false),
      (cookie, "/api/x", .inject(0), { $0.options.cookies = .pass }, true),
      ("X-Other: \(Self.token)", "/api/x", .pass, { $0.headers.remove = ["x-other"] }, false),
      ("Connection: X-Other\r\nX-Other: \(Self.token)", "/api/x", .pass, { _ in }, false),
      ("X-Kept: 1", "/api/x?access_token=\(Self.token)", .inject(0), { _ in }, false),
      ("X-Kept: 1", "/api/x?access_token=\(Self.token)", .pass, { _ in }, true),
      ("X-Kept: 1", "/api/x?key=\(Self.token)", .inject(0), { $0.headers.removeParameters = ["key"] }, false),
      ("X-Kept: 1", "/api/x?key=\(Self.token.dropLast())", .pass, { _ in }, false),
    ]
    for (line, target, credential, edit, goesUp) in rows {
      let played = exchange(get(Self.lines[1], line, target: target), ok(), try snapshot(credential, edit: edit))
      #expect(status(played.response) == (goesUp ? "400" : "200"), "\(line) \(target) \(credential)")
      #expect(played.sessions.isEmpty == goesUp && !played.request.contains(Self.token))
    }
  }

  @Test func `a listener without clients forwards texts that look like client tokens`() throws {
    let played = exchange(
      get("X-Other: \(Self.token)", target: "/api/\(Self.token)"), ok(), try GatewayTests.snapshot())
    #expect(status(played.response) == "200" && played.request.contains("X-Other: \(Self.token)"))
  }

  @Test func `T6: client tokens are removed from trailers of any name`() throws {
    let body = "1\r\na\r\n0\r\nX-Other: \(Self.token)\r\nX-Sum: 1\r\n\r\n"
    let played = exchange(
      get(Self.lines[0], "Transfer-Encoding: chunked", method: "POST") + body, ok(), try snapshot(.pass) { _ in })
    #expect(played.request.hasSuffix("\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"), "\(played.response)")
  }

  @Test func `T6: a client token is removed from Sec-WebSocket-Protocol, and other entries stay`() throws {
    let line = "Sec-WebSocket-Protocol: realtime ,openai-insecure-api-key.\(Self.token), openai-beta.realtime-v1"
    for credential in [CredentialChoice.inject(0), .none, .pass] {
      let played = exchange(get(line), ok(), try snapshot(credential) { _ in })
      #expect(value("Sec-WebSocket-Protocol", played.request) == "realtime, openai-beta.realtime-v1", "\(credential)")
      #expect(played.records.first?.caller?.client == "ci")
      #expect(played.records.first?.removed.description(under: nil) == "sec-websocket-protocol")
    }
  }

  @Test func `T6: client tokens are removed from trailers that usually have a credential`() throws {
    let body = "1\r\na\r\n0\r\nX-Auth-Key: \(Self.token)\r\nX-Sum: 1\r\n\r\n"
    let played = exchange(
      get(Self.lines[0], "Transfer-Encoding: chunked", method: "POST") + body, ok(), try snapshot(.pass) { _ in })
    #expect(played.request.hasSuffix("\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"), "\(played.response)")
  }
}

private enum Base64Text {
  static func of(_ text: String) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let bytes = Array(text.utf8)
    var result = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let chunk = bytes[start..<min(start + 3, bytes.count)]
      let bits = (0..<3).reduce(0) { $0 << 8 | ($1 < chunk.count ? Int(chunk[start + $1]) : 0) }
      for place in 0..<4 { result.append(place <= chunk.count ? digits[bits >> (18 - 6 * place) & 63] : "=") }
    }
    return result
  }
}
