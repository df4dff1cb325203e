import Gateway
import HTTP1
import Policy
import Testing

@Suite struct CookieTests {
  /// A session cookie would give the client a second credential for bearerd's identity (T34).
  @Test(arguments: [CredentialChoice.inject(0), .none])
  func `cookies are removed from requests and responses`(credential: CredentialChoice) throws {
    let played = exchange(
      get("Cookie: a=b"), ok("Set-Cookie: s=1", "set_cookie: s=2", "Set-Cookie2: s=3"),
      try snapshot(credential: credential))
    #expect(!played.request.lowercased().contains("cookie"))
    #expect(head(played.response).dropFirst() == ["Content-Length: 2"])
  }

  private static let longest = String(repeating: "x", count: 1_024)

  @Test(arguments: [
    ("s=1", "s=1"), ("s=1; Path=/base/x; Domain=up.test; HttpOnly", "s=1; Path=/api/x; HttpOnly"),
    ("s=1; path=/", "s=1; Path=/api/"), ("s=1;Path=/base;Max-Age=5", "s=1; Path=/api/; Max-Age=5"),
    ("s=1; Secure; SameSite=None; Partitioned", "s=1"), ("s=1; SameSite=Lax", "s=1; SameSite=Lax"),
    ("s=\"a b\" ; Domain", "s=\"a b\""), ("s=1; samesite", "s=1"), ("", ""),
    // whitespace around the name and the value of an attribute (RFC 6265 section 5.2)
    ("s=1; Path =/", "s=1; Path=/api/"), ("s=1; \tpath\t = /base/x ; HttpOnly", "s=1; Path=/api/x; HttpOnly"),
    ("s=1; Domain =localhost", "s=1"), ("s=1; Domain\t=\tlocalhost; Path =/", "s=1; Path=/api/"),
    ("s=1; Secure =; Secure=no; SameSite =None; Partitioned =x", "s=1"),
    ("s=1; SameSite = strict", "s=1; SameSite=Strict"),
    // the last attribute counts, even if it is empty or invalid
    ("s=1; Path=/base/x; Path=/base/y", "s=1; Path=/api/y"), ("s=1; Path=/base/x; Path =/", "s=1; Path=/api/"),
    ("s=1; Path=/base/x; Path", "s=1"), ("s=1; Path=/base/x; Path=", "s=1"), ("s=1; Path=/; Path=x", "s=1"),
    ("s=1; SameSite=Lax; SameSite=None", "s=1"), ("s=1; SameSite=None; samesite=LAX", "s=1; SameSite=Lax"),
    // invalid paths
    ("s=1; Path=base/x", "s=1"), ("s=1; Path=\"/base/x\"", "s=1"), ("s=1; Path=/base/x Path=/", "s=1; Path=/api/"),
    ("s=1; Path=/base/\tx", "s=1; Path=/api/"), ("s=1; Path=//evil.test/", "s=1; Path=/api/"),
    // lifetimes
    ("s=1; Max-Age =0", "s=1; Max-Age=0"), ("s=1; max-age=-1", "s=1; Max-Age=-1"),
    ("s=1; Max-Age=7; Max-Age=x; Max-Age", "s=1; Max-Age=7"), ("s=1; Max-Age=1,t=2", "s=1"), ("s=1; Max-Age=-", "s=1"),
    ("s=1; Expires = Thu, 01-Jan-1970 00:00:00 GMT", "s=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT"),
    ("s=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Expires=", "s=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"),
    ("s=1; Expires=x Path=/", "s=1"), ("s=1; Expires=x\"y", "s=1"),
    // other attributes
    ("s=1; HttpOnly=no; Priority=High; Version=1; $Path=/; x=y=z; =; ; ;", "s=1; HttpOnly"),
    ("s=1; Path=/base/x; Path=/\(longest)", "s=1; Path=/api/x"),
    ("s=1; Path=/base/\(longest.dropFirst(6))", "s=1; Path=/api/\(longest.dropFirst(6))"),
    // names that require Secure, and malformed pairs
    ("__Secure-s=1; Secure; Path=/base/", "__Secure-s=1; Path=/api/"),
    ("__Host-s=1; Secure; Path =/", "__Host-s=1; Path=/api/"),
    (" s = 1 ;Path=/", "s = 1; Path=/api/"), ("s; Path =/", "s; Path=/api/"), ("=s; Path =/", "=s; Path=/api/"),
    ("; Path=/; Domain=localhost", "; Path=/api/"), ("s=\"1; Path =/; x=\"", "s=\"1; Path=/api/"),
    ("Path=/", "Path=/"), ("s=1, t=2; Path=/", "s=1, t=2; Path=/api/"), ("s=the path x", "s=the path x"),
    ("s=the paths=x", "s=the paths=x"),
    ("s=1 xPath=/", "s=1 xPath=/"),
  ])
  func `cookies that are passed on are limited to the service`(cookie: String, expected: String) throws {
    let edited = try snapshot { $0.options.cookies = .pass }
    let played = exchange(get("Cookie: a=b"), ok("Set-Cookie: \(cookie)"), edited)
    #expect(value("Set-Cookie", played.response) == expected)
    #expect(value("Cookie", played.request) == "a=b")
  }

  /// Python's http.cookies also ends a value at a space, and reads the rest as an attribute.
  @Test(arguments: [
    "s=1 Path=/", "s=1 domain = localhost", "s=1\tPATH\t=/; Path=/base/", "s=1 x Domain=localhost", "s=1 $Path=/",
    "s=\"1\" Path=/",
  ])
  func `T34: a cookie with a value that some clients read as an attribute is removed`(cookie: String) throws {
    let edited = try snapshot { $0.options.cookies = .pass }
    let played = exchange(get(), ok("Set-Cookie: \(cookie)", "Set-Cookie: kept=1"), edited)
    #expect(head(played.response).dropFirst() == ["Set-Cookie: kept=1", "Content-Length: 2"])
  }
}

@Suite struct SharedOriginTests {
  /// One upstream must not set policies for the whole origin `http://localhost` (T35).
  @Test(arguments: [
    "Strict-Transport-Security: max-age=9", "Alt-Svc: h2=\":443\"", "Public-Key-Pins: x",
    "Public-Key-Pins-Report-Only: x",
    "Service-Worker-Allowed: /", "Clear-Site-Data: \"*\"", "NEL: {}", "Report-To: {}", "Reporting-Endpoints: x=\"/y\"",
    "Access-Control-Allow-Origin: *", "access-control-allow-credentials: true", "Access_Control_Allow_Origin: *",
    "Access-Control-Expose-Headers: *", "Access-Control-Allow-Private-Network: true",
    "Strict_Transport_Security: max-age=9",
    "Accept-CH: Sec-CH-UA-Model", "Accept-CH-Lifetime: 9", "Critical-CH: Sec-CH-UA-Model",
    "Alternate-Protocol: 443:quic",
    "Cache-Group-Invalidation: \"a\"", "Expect-CT: max-age=9", "Origin-Agent-Cluster: ?0", "Set-Login: logged-in",
    "IdP-SignIn-Status: action=signin", "Shared-Storage-Write: clear", "Speculation-Rules: \"/r\"",
    "Use-As-Dictionary: match=\"/*\"", "Sec-Session-Registration: (ES256);path=\"/r\"",
    "Secure-Session-Registration: (ES256);path=\"/r\"", "Sec-Session-Challenge: \"x\"",
    "Secure-Session-Challenge: \"x\"",
    "Sec-Session-GoogleRegistration: x",
    "Proxy-Status: bearerd; error=dns_error",
    "Proxy-Status: x, bearerd", "Proxy-Status: \"bearerd\"",
  ])
  func `T35: response fields that affect the whole origin are removed`(line: String) throws {
    for text in [line, line.lowercased()] {
      let played = exchange(
        get(), "HTTP/1.1 103 Early\r\n\(text)\r\n\r\n" + ok(text, "X-Kept: 1"), try snapshot(credential: .pass))
      #expect(played.response == "HTTP/1.1 103 Early\r\n\r\n" + ok("X-Kept: 1"))
    }
  }

  @Test func `another proxy's Proxy-Status is passed on`() throws {
    let played = exchange(get(), ok("Proxy-Status: cdn; error=dns_error"), try snapshot())
    #expect(value("Proxy-Status", played.response) == "cdn; error=dns_error")
  }

  @Test func `T35: the response to an address typed into a browser is sandboxed`() throws {
    let played = exchange(get("Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"), ok(), try snapshot())
    #expect(value("Content-Security-Policy", played.response) == "sandbox")
  }

  @Test(arguments: [
    "Origin: https://evil.test", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin",
  ])
  func `T2 T3: web pages are refused`(line: String) throws {
    let played = exchange(get(line), nil, try snapshot())
    #expect(status(played.response) == "403" && played.sessions.isEmpty)
  }
}

/// The client must not respond to a challenge to bearerd's credential (T36).
@Suite struct ChallengeTests {
  @Test(arguments: [
    ("401 Unauthorized", "WWW-Authenticate: Basic realm=x", "WWW-Authenticate"),
    ("407 Proxy", "Proxy-Authenticate: Basic realm=x", "Proxy-Authenticate"),
  ])
  func `T36: a challenge to an injected credential is replaced with a neutral challenge`(
    line: String, challenge: String, name: String
  ) throws {
    let played = exchange(get(), ok(challenge, "Authentication-Info: x", status: line, body: "no"), try snapshot())
    #expect(value(name, played.response) == "bearerd-credential-rejected")
    #expect(
      value("Proxy-Status", played.response)
        == "bearerd; received-status=\(line.prefix(3)); details=\"credential-rejected\"")
    #expect(!played.response.contains("Basic") && !played.response.contains("Authentication-Info"))
    #expect(played.response.hasSuffix("\r\n\r\nno"))
  }

  @Test(arguments: [CredentialChoice.pass, .none])
  func `T36: a challenge to the client's own credential is passed on`(credential: CredentialChoice) throws {
    let response = ok("WWW-Authenticate: Odd x=y", status: "401 Unauthorized")
    #expect(exchange(get(), response, try snapshot(credential: credential)).response == response)
  }

  @Test func `T36: a challenge to a client credential that replaces bearerd's is passed on`() throws {
    let response = ok("WWW-Authenticate: Basic realm=x", status: "401 Unauthorized")
    let edited = try snapshot { $0.headers.onClientHeader = .keep }
    #expect(exchange(get("Authorization: mine"), response, edited).response == response)
  }

  @Test func `T36: a service can turn a challenge to its credential into a 502`() throws {
    let edited = try snapshot { $0.options.onRejected = .status502 }
    let played = exchange(get(), ok("WWW-Authenticate: Basic", status: "401 Unauthorized", body: "theirs"), edited)
    #expect(
      status(played.response) == "502" && played.response.contains("credential-rejected")
        && !played.response.contains("theirs"))
  }
}

@Suite struct InterimResponseTests {
  @Test func `early hints follow the same rules as the final response`() throws {
    let interim =
      "HTTP/1.1 103 Early Hints\r\nLink: </base/a>; rel=preload\r\nSet-Cookie: s=1\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
      + "WWW-Authenticate: Basic\r\nContent-Length: 5\r\nX-Kept: 1\r\n\r\n"
    let edited = try snapshot { $0.options.cookies = .pass }
    let played = exchange(get(), interim + ok(), edited)
    #expect(played.response == "HTTP/1.1 103 Early Hints\r\nLink: </api/a>; rel=preload\r\nX-Kept: 1\r\n\r\n" + ok())
  }

  @Test func `an interim response with a URL of a listener is removed`() throws {
    let played = exchange(get(), "HTTP/1.1 103 Hi\r\nLink: <http://localhost:7070/>\r\n\r\n" + ok(), try snapshot())
    #expect(played.response == ok())
  }

  @Test func `only the upstream sends 100 Continue`() throws {
    var played = Conversation(try snapshot())
    played.client(get("Expect: 100-continue", "Content-Length: 2", method: "PUT"))
    #expect(value("Expect", played.request) == "100-continue" && played.response.isEmpty)
    played.upstream("HTTP/1.1 100 Continue\r\n\r\n")
    #expect(played.response == "HTTP/1.1 100 Continue\r\n\r\n")
    played.client("hi")
    played.upstream(ok())
    #expect(played.request.hasSuffix("\r\n\r\nhi") && played.log == ["open", "release", "record"])
  }

  @Test func `an unrequested 100 Continue is not passed on`() throws {
    #expect(exchange(get(), "HTTP/1.1 100 Continue\r\n\r\n" + ok(), try snapshot()).response == ok())
  }

  @Test func `an HTTP/1.0 client gets no interim responses, and its Expect field is removed`() throws {
    let request = "PUT /api/x HTTP/1.0\r\nHost: localhost:7070\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi"
    let played = exchange(request, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n" + ok(), try snapshot())
    #expect(value("Expect", played.request) == nil)
    #expect(played.response.hasPrefix("HTTP/1.1 200") && played.response.components(after: "HTTP/1.1 ").count == 1)
  }

  @Test func `too many interim responses are refused`() throws {
    let early = "HTTP/1.1 103 Early\r\n\r\n"
    let most = exchange(get(), String(repeating: early, count: 256) + ok(), try snapshot())
    #expect(most.response.hasSuffix(ok()))
    let flood = exchange(get(), String(repeating: early, count: 257) + ok(), try snapshot())
    #expect(flood.response.contains("too-many-informational") && flood.log == ["open", "drop", "record"])
    let large = "HTTP/1.1 103 Early\r\nX: \(String(repeating: "x", count: 250_000))\r\n\r\n"
    let fits = exchange(get(), String(repeating: large, count: 4) + ok(), try snapshot())
    #expect(fits.response.hasSuffix(ok()))
    let bytes = exchange(get(), String(repeating: large, count: 5) + ok(), try snapshot())
    #expect(bytes.records.last?.refusal == .plain(.tooManyInformational))
  }

  /// An upstream may report for hours that it is still working.
  @Test(arguments: [("1.1", true), ("1.0", false)])
  func `slow interim responses may continue for hours`(version: String, arePassed: Bool) throws {
    var played = Conversation(try snapshot())
    played.client(get(version: version))
    let working = "HTTP/1.1 102 Processing\r\n\r\n"
    for _ in 0..<5_000 {
      played.now += 100
      played.upstream(working)
      played.now += 100
      played.upstream("HTTP/1.1 100 Continue\r\n\r\n")
    }
    #expect(played.log == ["open"] && played.restarts == 10_000 && played.deadline == .responseHead)
    played.upstream(ok(status: "201 Created"))
    #expect(played.response.hasPrefix(arePassed ? working + working : "HTTP/1.1 201"))
    #expect(!played.response.contains("100 Continue") && played.records.last?.status == 201)
  }

  @Test func `frequent interim responses are refused after a while`() throws {
    var played = Conversation(try snapshot())
    played.client(get(version: "1.0"))
    for _ in 0..<600 {
      played.now += 50
      played.upstream("HTTP/1.1 102 Processing\r\n\r\n")
    }
    #expect(played.records.last?.refusal == .plain(.tooManyInformational))
  }

  @Test func `several interim responses in one piece are passed on separately`() throws {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </base/a>\r\n\r\n"
    let played = exchange(get(), early + early + ok(), try snapshot())
    let passed = early.replacing("/base/", with: "/api/")
    #expect(played.response == passed + passed + ok())
    let links = String(repeating: "Link: </base/a>\r\n", count: 120)
    let many = exchange(get(), "HTTP/1.1 103 Early Hints\r\n\(links)\r\n" + ok(), try snapshot())
    #expect(many.response.components(after: "Link: </api/a>").count == 120)
  }

  @Test func `an unrequested upgrade is refused`() throws {
    let played = exchange(
      get("Upgrade: websocket", "Connection: Upgrade"), "HTTP/1.1 101 Switching\r\n\r\nraw", try snapshot())
    #expect(
      status(played.response) == "502" && played.response.contains("unrequested-upgrade")
        && !played.response.contains("raw"))
  }

  /// Forbidden trailers do not invalidate a response (RFC 9110 section 6.5.1).
  @Test(arguments: [
    "Set-Cookie: a=b", "set_cookie: a=b", "Location: /x", "Content-Length: 7", "Transfer-Encoding: gzip", "Host: x",
    "Vary: *",
    "Connection: X-Sum", "Content-Type: text/html", "Access-Control-Allow-Origin: *", "WWW-Authenticate: Basic",
    "Proxy-Status: bearerd", "Authorization: x", "Date: now",
  ])
  func `T26: a forbidden trailer is dropped, and the response ends normally`(line: String) throws {
    let response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-A: 1\r\n\(line)\r\nX-Sum: 1\r\n\r\n"
    let played = exchange(get(), response, try snapshot { $0.options.cookies = .pass })
    #expect(played.response.hasSuffix("\r\n\r\n1\r\na\r\n0\r\nX-A: 1\r\nX-Sum: 1\r\n\r\n"), "\(played.response)")
    #expect(played.records.last?.isAborted == false && !played.isOver)
    let closes = exchange(get(), response.replacing("X-Sum: 1", with: "X-Sum : 1"), try snapshot())
    #expect(closes.records.last?.isAborted == true, "what is no field is another matter")
  }

  @Test func `response trailers follow the same rules as the response head`() throws {
    let response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nX-Hop: 1\r\n"
      + "NEL: x\r\nLink: </base/z>\r\n\r\n"
    let played = exchange(get(), response, try snapshot())
    #expect(played.response.hasSuffix("\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nLink: </api/z>\r\n\r\n"))
  }
}
