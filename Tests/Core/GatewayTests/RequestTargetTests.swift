import Gateway
import HTTP1
import Policy
import Primitives
import Testing

/// Targets with bytes that a URL must escape, and refusals with the position of the error.
@Suite struct RequestTargetTests {
  @Test(arguments: [
    ("/api/search?q=münchen", "/base/search?q=m%C3%BCnchen", "/api/search"),
    ("/api/файл.txt", "/base/%D1%84%D0%B0%D0%B9%D0%BB.txt", "/api/%D1%84%D0%B0%D0%B9%D0%BB.txt"),
    ("/api/pages/[id].tsx", "/base/pages/%5Bid%5D.tsx", "/api/pages/%5Bid%5D.tsx"),
    ("/api/{a}|b^c`d?x[]={}", "/base/%7Ba%7D%7Cb%5Ec%60d?x%5B%5D=%7B%7D", "/api/%7Ba%7D%7Cb%5Ec%60d"),
    ("/api/a%5cb", "/base/a%5Cb", "/api/a%5Cb"),
    ("http://localhost:7070/api/ü", "/base/%C3%BC", "/api/%C3%BC"),
    ("http://localhost:7070?ü", nil, "/"),
  ])
  func `the encoded form of a target is checked, logged and sent`(target: String, sent: String?, path: String) throws {
    let played = exchange(get(target: target), nil, try snapshot())
    #expect(String(decoding: played.target.path, as: UTF8.self) == path)
    if let sent { #expect(head(played.request).first == "GET \(sent) HTTP/1.1") }
  }

  @Test func `a byte that is not UTF-8 is percent-encoded`() throws {
    var played = Conversation(try snapshot())
    played.client(Array("GET /api/caf".utf8) + [0xE9] + Array(" HTTP/1.1\r\nHost: localhost:7070\r\n\r\n".utf8))
    #expect(head(played.request).first == "GET /base/caf%E9 HTTP/1.1")
  }

  @Test func `T12: rules check a target in the form that is sent`() throws {
    let rules = [
      Rule(
        pattern: try URLPattern(parsing: "/%5Badmin%5D/**"), methods: .every, action: .deny, headers: HeaderPolicy(),
        description: nil, line: 1),
      Rule(
        pattern: try URLPattern(parsing: "/admin/**"), methods: .every, action: .deny, headers: HeaderPolicy(),
        description: nil, line: 2),
      Rule(
        pattern: try URLPattern(parsing: "/**"), methods: .every, action: .forward(.inject(0)), headers: HeaderPolicy(),
        description: nil, line: 3),
    ]
    let snapshot = try snapshot { $0.rules = rules }
    for (target, code) in [
      ("/api/[admin]/x", "denied"), ("/api/%5badmin]/x", "denied"), ("/api/admin%5Cx", "ambiguous-path"),
      ("/api/%5Cadmin/x", "ambiguous-path"), ("/api/x%5C..%5Cadmin", "dot-segment"), ("/api/[x]", nil),
    ] {
      let played = exchange(get(target: target), nil, snapshot)
      #expect(played.response.contains("urn:bearerd:error:\(code ?? "none")\"") == (code != nil), "\(target)")
      #expect(played.sessions.isEmpty == (code != nil))
    }
  }

  private func body(_ request: String, _ snapshot: Snapshot) -> String {
    exchange(request, nil, snapshot).response.split(separator: "\r\n\r\n").last.map(String.init) ?? ""
  }

  @Test(arguments: [
    ("/api/a\\b", "\"character\":\"backslash\",\"position\":7,\"escape\":\"%5C\""),
    ("/api/\"", "\"character\":\"quotation mark\",\"position\":6,\"escape\":\"%22\""),
    ("/api/x%00", "\"character\":\"NUL\",\"position\":7,\"escape\":\"%00\""),
    ("/api/x?\u{7F}", "\"line\":1,\"character\":\"DEL\",\"position\":8,\"escape\":\"%7F\""),
    ("/api/\tx", "\"line\":1,\"character\":\"tab\",\"position\":6,\"escape\":\"%09\""),
    ("/api/a b", "\"line\":1,\"character\":\"space\",\"position\":7,\"escape\":\"%20\""),
    ("http://localhost:7070/api/<", "\"character\":\"less-than sign\",\"position\":27,\"escape\":\"%3C\""),
  ])
  func `the refusal of a character names its position and escape`(target: String, members: String) throws {
    let body = body(get(target: target), try snapshot())
    #expect(body.contains(members), "\(body)")
    #expect(body.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A } && !body.contains("\\"))
  }

  @Test func `the refusal of a malformed request names the line, or the key of the limit`() throws {
    var limits = HeadLimits()
    (limits.fields, limits.headBytes, limits.targetBytes) = (4, 200, 60)
    let snapshot = try snapshot(limits: limits)
    let rows: [(String, String)] = [
      (get("X: 1", "Host: b"), "\"reason\":\"duplicateHost\",\"line\":4"),
      (get("X Y: 1"), "\"reason\":\"spaceBeforeColon\",\"line\":3"),
      (get("X"), "\"reason\":\"noColon\",\"line\":3"),
      (get("A: 1", "B: 2", "C: 3", "D: 4"), "\"reason\":\"tooManyFields\",\"key\":\"limits.fields\",\"limit\":4"),
      (
        get("A: \(String(repeating: "a", count: 200))"),
        "\"reason\":\"headTooLarge\",\"key\":\"limits.head\",\"limit\":200"
      ),
      (
        get(target: "/api/\(String(repeating: "a", count: 60))"),
        "\"reason\":\"targetTooLong\",\"key\":\"limits.target\",\"limit\":60"
      ),
    ]
    for (request, members) in rows {
      let body = body(request, snapshot)
      #expect(body.contains(members), "\(body)")
    }
  }

  @Test func `the refusal of a slow request names the limit`() throws {
    var early = Conversation(try snapshot())
    early.client("GET / HTT")
    early.apply { $0.deadlinePassed(output: &$1) }
    #expect(early.response.contains("\"key\":\"limits.client_head\""))
    var silent = exchange(get("Content-Length: 4", method: "POST"), nil, try snapshot())
    silent.apply { $0.deadlinePassed(output: &$1) }
    #expect(silent.response.contains("\"key\":\"timeouts.body_silence\""))
    var slow = exchange(get("Content-Length: 4", method: "POST"), nil, try snapshot())
    slow.apply { $0.requestBodyTooSlow(output: &$1) }
    #expect(slow.response.contains("\"key\":\"limits.client_body_rate\""))
    #expect(slow.records.last?.timeout == .clientBodyRate && slow.records.last?.refusal == .plain(.requestTimeout))
  }

  // MARK: tunnels

  private func tunnelled() throws -> Snapshot {
    let plain = try snapshot()
    return Snapshot(
      generation: 1, rules: plain.rules,
      admissions: plain.admissions.map {
        Admission(callers: $0.callers, authorities: $0.authorities, loopbackPorts: .any(except: []))
      }, headLimits: plain.headLimits, ownAuthorities: plain.ownAuthorities)
  }

  @Test(arguments: [
    ("localhost:20100", "Location: http://localhost:20100/other", true),
    ("localhost:20100", "Location: http://127.0.0.1:20100/other", true),
    ("localhost:20100", "Location: //127.1:20100/other", true),
    ("localhost:20100", "X-Goog-Upload-URL: http://localhost:20100/other", true),
    ("localhost:20100", "Location: http://localhost:7070/other", true),
    ("localhost", "Location: http://localhost/other", true),
    ("localhost:20100", "Location: http://localhost:20101/other", false),
    ("localhost:7070", "Location: http://localhost:20100/other", false),
    ("localhost:20100", "Location: http://up.example:20100/other", false),
  ])
  func `T32: a URL with the port of a tunnel to a listener counts as a listener's URL`(
    host: String, line: String, isOurs: Bool
  ) throws {
    let request = "GET /api/x HTTP/1.1\r\nHost: \(host)\r\n\r\n"
    let played = exchange(request, ok(line, status: "302 Found"), try tunnelled())
    #expect(status(played.response) == (isOurs ? "502" : "302"), "\(played.response)")
    #expect(played.response.contains("redirect-to-self") == isOurs)
  }

  @Test func `a WebDAV Destination may have the port of a tunnel`() throws {
    let request =
      "MOVE /api/x HTTP/1.1\r\nHost: localhost:20100\r\nDestination: http://localhost:20100/api/[y]\r\n\r\n"
    let played = exchange(request, nil, try tunnelled())
    #expect(value("Destination", played.request) == "https://up.test/base/%5By%5D")
  }
}
