@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
@testable import OAuth
import Policy
import Settings
import Testing

/// Requests to a login URL, and its responses.
@Suite struct LoginFormTests {
  private static func form(
    _ encoding: LoginForm.Encoding = .form, _ extractedValue: LoginForm.ExtractedValue = .cookie("AuthSession"),
    edit: (inout LoginForm) -> Void = { _ in }
  ) -> LoginForm {
    var form = LoginForm(
      encoding: encoding, fields: [.init("name", .plain("jan@example.com")), .init("password", .secret(somewhere))],
      extractedValue: extractedValue)
    edit(&form)
    return form
  }

  private func source(_ form: LoginForm) throws -> TokenSource {
    TokenSource(
      credential: "db", endpoint: try Endpoint(parsing: "https://db.example.com:6984/_session"), grant: .form(form),
      client: TokenClient(id: "", authentication: .none))
  }

  // MARK: requests

  @Test func `a login request has exactly the expected fields`() throws {
    let (head, body) = try rendered(try source(Self.form()), .token, [.field(1): "a&b=c+d%e ü:/@"])
    #expect(body == "name=jan%40example.com&password=a%26b%3Dc%2Bd%25e+%C3%BC%3A%2F%40")
    #expect(
      head == [
        "POST /_session HTTP/1.1", "Host: db.example.com:6984", "Accept: application/json, */*;q=0.5",
        "Accept-Encoding: identity", "User-Agent: bearerd", "Content-Type: application/x-www-form-urlencoded",
        "Content-Length: \(body.utf8.count)", "Connection: close",
      ])
  }

  @Test(arguments: [
    ("a&b=c+d%e ü:/@", "a&b=c+d%e ü:/@"), ("\"\\", "\\\"\\\\"), ("\u{0}\u{1F}\n\u{7F}", "\\u0000\\u001f\\u000a\u{7F}"),
    ("😀\u{2028}", "😀\u{2028}"), ("</script>", "</script>"),
  ])
  func `only necessary characters are escaped in JSON`(_ password: String, _ written: String) throws {
    let form = Self.form(.json, .token(["token"]))
    let (head, body) = try rendered(try source(form), .token, [.field(1): password])
    #expect(body == "{\"name\":\"jan@example.com\",\"password\":\"\(written)\"}")
    #expect(head.contains("Content-Type: application/json") && head.contains("Accept: application/json"))
  }

  @Test func `bytes that are not UTF-8 are refused in JSON and sent in a form`() throws {
    let secrets = TokenSecrets()
    secrets.put(.field(1), try secret([0x61, 0xFF]))
    let json = try source(Self.form(.json))
    do throws(SecretProblem) {
      _ = try TokenRequest.render(json, .token, secrets, at: moment, in: arena)
      Issue.record("rendered")
    } catch {
      #expect(error.sentence.contains("password") && error.sentence.contains("db"))
    }
    let request = try TokenRequest.render(try source(Self.form()), .token, secrets, at: moment, in: arena)
    #expect(request.bytes.withBytes { String(decoding: $0, as: UTF8.self) }.hasSuffix("&password=a%FF"))
  }

  // MARK: responses

  private func read(
    _ form: LoginForm, _ fields: String, body: String = "{\"ok\":true}", status: Int = 200, pieces: Int = 10_000
  ) throws -> Said {
    let intake = try TokenResponseReceiver(mustLock: false)
    var rest = Array(
      "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        .utf8)[...]
    var step = TokenResponseReceiver.Step.needsMore
    while !rest.isEmpty, step == .needsMore {
      step = intake.receive(Array(rest.prefix(pieces)).span)
      rest = rest.dropFirst(pieces)
    }
    try #require(step == .complete)
    switch TokenResponse.read(intake, of: try source(form), now: 1_795_305_600, in: arena) {
    case .granted(let grant):
      return .granted(text(grant.accessToken), refreshToken: nil, lifetime: grant.lifetime, isOdd: grant.remark != nil)
    case .refused(let refusal): return .refused(refusal.kind, refusal.code, refusal.sentence)
    }
  }

  private func granted(_ text: String, _ lifetime: UInt64? = nil) -> Said {
    .granted(text, refreshToken: nil, lifetime: lifetime, isOdd: false)
  }

  @Test(arguments: [1, 7, 10_000])
  func `a session cookie is read with its lifetime, in pieces of any size`(pieces: Int) throws {
    func read(_ fields: String, edit: (inout LoginForm) -> Void = { _ in }) throws -> Said {
      try self.read(Self.form(edit: edit), fields, pieces: pieces)
    }
    let line = "Set-Cookie: AuthSession=amFu:1-_.; Version=1; Path=/; HttpOnly"
    #expect(try read("\(line)\r\n") == granted("amFu:1-_."))
    #expect(try read("set-COOKIE:AuthSession=x\t \r\nSet-Cookie: a=b\r\n") == granted("x"))
    #expect(try read("\(line); Max-Age=600\r\n") == granted("amFu:1-_.", 600_000))
    #expect(try read("\(line); Max-Age=600\r\n") { $0.lifetime = 60_000 } == granted("amFu:1-_.", 60_000))
    #expect(try read("\(line); Max-Age=6\r\n") { $0.lifetime = 60_000 } == granted("amFu:1-_.", 6_000))
    #expect(try read("\(line)\r\n") { $0.lifetime = 60_000 } == granted("amFu:1-_.", 60_000))
    let date = "Date: Sun, 22 Nov 2026 10:00:00 GMT\r\n"
    #expect(try read("\(date)\(line); Expires=Sun, 22 Nov 2026 10:01:00 GMT\r\n") == granted("amFu:1-_.", 60_000))
    // The last cookie counts.
    #expect(try read("Set-Cookie: AuthSession=1\r\nSet-Cookie: AuthSession=2\r\n") == granted("2"))
  }

  @Test(arguments: [
    "", "Set-Cookie: authsession=x\r\n", "Set-Cookie: AuthSession=\r\n", "Set-Cookie: AuthSession=QZQZ; Max-Age=0\r\n",
    "Set-Cookie: AuthSession=QZ QZ\r\n", "Set-Cookie: AuthSession=\u{FC}QZQZ\r\n", "X-Set-Cookie: AuthSession=x\r\n",
    "Set-Cookie: AuthSession=1\r\nSet-Cookie: AuthSession=deleted; Max-Age=-1\r\n",
    "Set-Cookie: AuthSession=\(String(repeating: "x", count: 4_097))\r\n",
  ])
  func `a response without a usable cookie is refused`(_ fields: String) throws {
    let response = try read(Self.form(), fields)
    #expect(response.kind == .misconfigured, "\(response)")
    #expect(!"\(response)".contains("QZQZ"))
  }

  @Test func `a token and its lifetime are read at their configured paths`() throws {
    let body = "{\"data\":{\"tokens\":[\"tok-1\"],\"ttl\":60,\"text\":\"90\",\"end\":\"2026\"}}"
    func read(_ path: [String], _ expires: [String]? = nil, body: String? = nil) throws -> Said {
      try self.read(
        Self.form(.json, .token(path)) { $0.expiresIn = expires }, "",
        body: body ?? """
          {"data":{"tokens":["tok-1"],"ttl":60,"text":"90","end":"2026-11","b":true,"low":0.5,"sp":"a b","e":""}}
          """)
    }
    #expect(try self.read(Self.form(.json, .token(["data", "tokens", "0"])), "", body: body) == granted("tok-1"))
    #expect(try read(["data", "tokens", "0"], ["data", "ttl"]) == granted("tok-1", 60_000))
    #expect(try read(["data", "tokens", "0"], ["data", "text"]) == granted("tok-1", 90_000))
    for path in [["data", "end"], ["data", "b"], ["data", "low"], ["x"]] {
      #expect(try read(["data", "tokens", "0"], path).kind == .misconfigured, "\(path)")
    }
    for path in [["data", "tokens", "1"], ["data", "tokens", "-1"], ["data", "tokens"], ["data", "ttl"], ["token"]] {
      #expect(try read(path).kind == .misconfigured, "\(path)")
    }
    for path in [["data", "sp"], ["data", "e"]] {
      #expect(try read(path).kind == .transient(retryAfter: nil), "\(path)")
    }
    #expect(try read(["a"], body: "{\"a\":\"x\",\"a\":\"y\"}").kind == .transient(retryAfter: nil))
    #expect(try read(["a"], body: "[]").kind == .transient(retryAfter: nil))
  }

  @Test(
    arguments: [
      (401, .final), (403, .misconfigured), (400, .misconfigured), (404, .misconfigured), (302, .misconfigured),
      (303, .misconfigured), (418, .misconfigured), (429, .transient(retryAfter: 7_000)),
      (503, .transient(retryAfter: 7_000)), (500, .transient(retryAfter: 7_000)),
    ] as [(Int, TokenRefusal.Kind)])
  func `T41: the status of a login response decides, whatever the body contains`(
    _ status: Int, _ kind: TokenRefusal.Kind
  ) throws {
    let response = try read(
      Self.form(), "Retry-After: 7\r\nLocation: https://QZQZ/\r\nSet-Cookie: AuthSession=x\r\n",
      body: "{\"error\":\"QZQZ\",\"token\":\"x\"}", status: status)
    #expect(response.kind == kind)
    #expect(!"\(response)".contains("QZQZ"))
  }

  @Test func `T38: a cookie's value is removed from the head before the head is parsed`() throws {
    let lines = try SetCookieLines(byteCount: 64, mustLock: false)
    for (line, left) in [
      ("Set-Cookie: S=secret; Path=/\r\n", "Set-Cookie: xxxxxxxx; xxxxxx\r\n".replacing("; ", with: "x ")),
      ("set-COOKIE:S=more\r\n", "set-COOKIE:xxxxxx\r\n"), ("Cookie: S=1\r\n", "Cookie: S=1\r\n"),
      ("Set-Cookie:\r\n", "Set-Cookie:\r\n"),
    ] {
      var bytes = Array(line.utf8)
      bytes.withUnsafeMutableBytes { lines.extractCookie(from: $0) }
      #expect(String(decoding: bytes, as: UTF8.self) == left)
    }
    #expect(lines.ranges.map(\.count) == [16, 6])
    lines.forget()
    #expect(lines.ranges.isEmpty && lines.withBytes { $0.count } == 0)
  }

  @Test func `the cookies of an interim response are ignored`() throws {
    let intake = try TokenResponseReceiver(mustLock: false)
    let text =
      "HTTP/1.1 103 X\r\nSet-Cookie: AuthSession=early\r\n\r\nHTTP/1.1 204 X\r\nSet-Cookie: AuthSession=late\r\n\r\n"
    #expect(intake.receive(Array(text.utf8).span) == .complete)
    let values = intake.cookies.withBytes { bytes in
      intake.cookies.ranges.map { range in range.map { Unicode.Scalar(bytes[$0]) } }
    }
    #expect(values.map { String(String.UnicodeScalarView($0)) } == ["AuthSession=late"])
  }
}
