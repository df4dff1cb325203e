import HTTP1
import Testing

@Suite struct ChallengeTests {
  /// Returns parsed challenges as text: `scheme{name: value; …}` or `scheme token68`. `nil` if they are malformed.
  private func read(_ text: String) -> String? {
    let bytes = Array("WWW-Authenticate: \(text)".utf8)
    let value = 18..<bytes.count
    guard let challenges = Challenge.read(value, of: bytes.span) else { return nil }
    return challenges.map { challenge in
      let scheme = String(decoding: bytes[challenge.scheme], as: UTF8.self)
      if let token = challenge.token68 { return "\(scheme) \(String(decoding: bytes[token], as: UTF8.self))" }
      let parameters = challenge.parameters.map { parameter in
        let name = String(decoding: bytes[parameter.name], as: UTF8.self)
        let value = challenge.value(of: name.lowercased(), in: bytes.span) ?? []
        return "\(name): \(String(decoding: value, as: UTF8.self))"
      }
      return "\(scheme){\(parameters.joined(separator: "; "))}"
    }.joined(separator: " | ")
  }

  @Test(arguments: [
    (
      #"Basic realm="a, b", Bearer realm="c", error="invalid_token""#,
      "Basic{realm: a, b} | Bearer{realm: c; error: invalid_token}"
    ),
    ("bEaReR ERROR=invalid_token", "bEaReR{ERROR: invalid_token}"),
    (#"Bearer error="invalid\_token""#, "Bearer{error: invalid_token}"),
    ("Negotiate YII=", "Negotiate YII="),
    ("Negotiate YII==, Basic realm=x", "Negotiate YII== | Basic{realm: x}"),
    ("NTLM abc+/~-._", "NTLM abc+/~-._"),
    ("Negotiate YII= x", "Negotiate{YII: x}"),
    ("Negotiate, NTLM", "Negotiate{} | NTLM{}"),
    (#"Bearer error_description="error=\"invalid_token\"""#, #"Bearer{error_description: error="invalid_token"}"#),
    (#"Bearer , , realm="x""#, "Bearer{realm: x}"),
    (#"Bearer realm = "x" , scope=a"#, "Bearer{realm: x; scope: a}"),
    (#"Digest nonce="", qop="auth,auth-int", stale=TRUE"#, "Digest{nonce: ; qop: auth,auth-int; stale: TRUE}"),
    (#",, Bearer"#, "Bearer{}"),
    ("", ""), (",,,", ""),
    (#"Bearer a="1", Basic, Bearer b=2"#, "Bearer{a: 1} | Basic{} | Bearer{b: 2}"),
  ])
  func `challenges are parsed as RFC 9110 defines them`(_ text: String, _ expected: String) {
    #expect(read(text) == expected)
  }

  @Test(arguments: [
    #"Bearer realm="unterminated"#, #"Bearer realm="x\"#, "Bearer realm x y", "=x", "Bearer a=1 b=2",
    #"Bearer "x""#, #"Bearer realm="x"y"#, "Bearer a=", #"Bearer a=1, A=2"#, "Be@rer",
    "Bearer a=b=c",
    "Negotiate YII=, a=b=c",
  ])
  func `malformed challenges are rejected as a whole`(_ text: String) {
    // `a=` alone is a token68.
    #expect(read(text) == (text == "Bearer a=" ? "Bearer a=" : nil))
  }

  @Test func `too many parameters or challenges are malformed, and empty list elements do not count`() {
    let many = (0..<65).map { "p\($0)=1" }.joined(separator: ", ")
    #expect(read("Bearer " + many) == nil)
    #expect(read(String(repeating: ",", count: 60_000)) == "")
    #expect(read(String(repeating: "a,", count: 32))?.isEmpty == false)
    #expect(read(String(repeating: "a,", count: 33)) == nil)
  }
}
