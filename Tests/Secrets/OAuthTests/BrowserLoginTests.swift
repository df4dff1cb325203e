import Credentials
import Secrets
import OAuth
import Policy
import Settings
import Testing

/// A login with a browser: the URL that the user opens, and the callback with the code.
@Suite struct BrowserLoginTests {
  /// 32 bytes for the state, then the bytes of RFC 7636 appendix B.
  private static let random: [UInt8] =
    Array(repeating: 1, count: 32) + [
      116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240,
      91,
      88, 5, 88, 83, 132, 141, 121,
    ]
  private static let state = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"
  private static let iss = "&iss=https%3A%2F%2Flogin.example.com"

  private static func login(issuer: String? = "https://login.example.com") throws -> BrowserLogin {
    var source = try source(.refreshToken(first: nil))
    source.authorization = try Endpoint(parsing: "https://login.example.com/authorize")
    source.issuer = issuer
    source.scope = ["a", "b"]
    source.parameters = [LoginForm.Field("prompt", .plain("a&b"))]
    return try BrowserLogin(source, redirectURI: "http://127.0.0.1:4711/call/back", random: random.span, in: arena)
  }

  @Test func `the code challenge matches RFC 7636 appendix B`() throws {
    let login = try Self.login()
    #expect(text(try login.codeVerifier(in: arena)) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    #expect(
      login.url
        == "https://login.example.com/authorize?response_type=code&client_id=bearerd"
        + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcall%2Fback&scope=a+b&state=\(Self.state)"
        + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&prompt=a%26b")
  }

  @Test func `the query of the login page is kept, and secret parameters are left out`() throws {
    var source = try source(.refreshToken(first: nil))
    source.authorization = try Endpoint(parsingWithQuery: "https://login.example.com/authorize?p=1")
    source.parameters = [LoginForm.Field("key", .secret(somewhere)), LoginForm.Field("prompt", .plain("x"))]
    let login = try BrowserLogin(source, redirectURI: "http://127.0.0.1:4/", random: Self.random.span, in: arena)
    #expect(login.url.hasPrefix("https://login.example.com/authorize?p=1&response_type=code&client_id=bearerd&"))
    #expect(login.url.hasSuffix("&prompt=x") && !login.url.contains("key="))
  }

  private enum Outcome: Equatable { case code(String), refused, stranger }

  private static func outcome(_ login: inout BrowserLogin, _ target: String) -> Outcome {
    let bytes = Array(target.utf8)
    switch login.evaluate(bytes.span, in: arena) {
    case .code(let code): return .code(text(code))
    case .refused: return .refused
    case .unrelated: return .stranger
    }
  }

  @Test(
    arguments: [
      ("/call/back?code=c%2B%20d+e&state=\(state)\(iss)", .code("c+ d e")),
      ("/call/back?state=\(state)\(iss)&x=y&code=c", .code("c")),
      ("/call/back?c%6fde=c&state=\(state)\(iss)", .code("c")),
      // Ignored: the login continues to wait
      ("/?code=c&state=\(state)\(iss)", .stranger), ("/call/back/?code=c&state=\(state)\(iss)", .stranger),
      ("/call/bac%6b?code=c&state=\(state)\(iss)", .stranger), ("/favicon.ico", .stranger), ("", .stranger),
      ("/call/back", .stranger), ("/call/back?", .stranger), ("/call/back?code=c\(iss)", .stranger),
      ("/call/back?code=c&state=\(iss)", .stranger), ("/call/back?code=c&state=x\(iss)", .stranger),
      ("/call/back?code=c&state=\(state)x\(iss)", .stranger),
      ("/call/back?code=c&state=\(state.dropLast())\(iss)", .stranger),
      ("/call/back?code=c&state=\(state)&state=\(state)\(iss)", .stranger),
      ("/call/back?code=c&state=x&state=\(state)\(iss)", .stranger),
      ("/call/back?code=c&state=\(state)%\(iss)", .stranger),
      ("/call/back?code=c&STATE=\(state)\(iss)", .stranger), ("/call/back#state=\(state)", .stranger),
      // Refused: the login ends
      ("/call/back?state=\(state)\(iss)", .refused), ("/call/back?code=&state=\(state)\(iss)", .refused),
      ("/call/back?code=c&code=d&state=\(state)\(iss)", .refused),
      ("/call/back?code=%zz&state=\(state)\(iss)", .refused),
      ("/call/back?code=c&state=\(state)", .refused),
      ("/call/back?code=c&state=\(state)&iss=https://evil.example", .refused),
      ("/call/back?code=c&state=\(state)\(iss)\(iss)", .refused), ("/call/back?code=c&state=\(state)\(iss)/", .refused),
      ("/call/back?code=c&state=\(state)\(iss)&access_token=t", .refused),
      ("/call/back?code=c&state=\(state)\(iss)&acces%73_token=t", .refused),
      ("/call/back?code=c&state=\(state)\(iss)&id_token=t", .refused),
      ("/call/back?access_token=t&state=\(state)\(iss)", .refused),
      ("/call/back?error=access_denied&state=\(state)\(iss)", .refused),
      ("/call/back?error=swordfish&state=\(state)\(iss)", .refused),
      ("/call/back?error=access_denied&code=c&state=\(state)\(iss)", .refused),
    ] as [(String, BrowserLoginTests.Row)])
  fileprivate func `a callback is accepted once, with a code and the right state and issuer`(
    _ target: String, _ row: Row
  ) throws {
    var login = try Self.login()
    let expected: Outcome =
      switch row {
      case .code(let code): .code(code)
      case .refused: .refused
      case .stranger: .stranger
      }
    #expect(Self.outcome(&login, target) == expected)
    // An ignored callback changes nothing. After any other callback, no second callback is accepted.
    let again = Self.outcome(&login, "/call/back?code=c&state=\(Self.state)\(Self.iss)")
    #expect(again == (expected == .stranger ? .code("c") : .refused))
  }

  fileprivate enum Row: Sendable { case code(String), refused, stranger }

  @Test func `a callback needs no issuer if the server has no issuer`() throws {
    var login = try Self.login(issuer: nil)
    #expect(Self.outcome(&login, "/call/back?code=c&state=\(Self.state)") == .code("c"))
  }

  @Test func `a refusal shows only registered error codes`() throws {
    for (error, shown) in [("access_denied", "access_denied"), ("swordfish", "without a known reason")] {
      var login = try Self.login()
      let bytes = Array("/call/back?error=\(error)&error_description=swordfish&state=\(Self.state)\(Self.iss)".utf8)
      guard case .refused(let sentence) = login.evaluate(bytes.span, in: arena) else {
        Issue.record("not refused")
        continue
      }
      #expect(sentence.contains(shown) && !sentence.contains("swordfish"))
    }
  }

  @Test func `a callback with a target that is too long is ignored`() throws {
    var login = try Self.login()
    let padding = String(repeating: "x", count: 20_000)
    #expect(Self.outcome(&login, "/call/back?code=c&state=\(Self.state)\(Self.iss)&x=\(padding)") == .stranger)
  }

  @Test func `a login does not start without random bytes or an authorization URL`() throws {
    var source = try source(.refreshToken(first: nil))
    #expect(throws: SecretProblem.self) {
      _ = try BrowserLogin(source, redirectURI: "http://127.0.0.1:1/", random: Self.random.span, in: arena)
    }
    source.authorization = source.endpoint
    #expect(throws: SecretProblem.self) {
      _ = try BrowserLogin(
        source, redirectURI: "http://127.0.0.1:1/", random: Self.random.span.extracting(0..<63), in: arena)
    }
  }
}
