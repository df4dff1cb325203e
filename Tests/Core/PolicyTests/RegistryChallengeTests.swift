import HTTP1
import Policy
import Testing

/// Only challenges that name the configured token server are used.
@Suite struct RegistryChallengeTests {
  private static let realm = "https://auth.test/token"

  private func read(_ lines: String..., realm: String = Self.realm) throws -> String? {
    let head = DigestChallengeTests.head(lines.map { Array($0.utf8) })
    return RegistryChallenge.find(in: head, realm: try Endpoint(parsing: realm)).map { challenge in
      let service = challenge.service.map { String(decoding: $0, as: UTF8.self) } ?? "-"
      return ([service] + challenge.scopes.map { String(decoding: $0, as: UTF8.self) }).joined(separator: " | ")
    }
  }

  @Test func `service and scopes are parsed, and each scope is kept once`() throws {
    let bearer = #"Bearer realm="https://auth.test/token""#
    #expect(try read(bearer) == "-")
    #expect(
      try read(
        bearer + #",service="registry.test",scope="repository:a/b:pull,push repository:c:pull repository:c:pull""#)
        == "registry.test | repository:a/b:pull,push | repository:c:pull")
    #expect(try read(#"Basic realm="x""#, #"bearer Realm="https://AUTH.test:443/token", error="invalid_token""#) == "-")
  }

  @Test(arguments: [
    "https://evil.test/token", "https://auth.test/other", "http://auth.test/token", "https://auth.test:444/token",
    "https://user@auth.test/token", "https://auth.test/token?x", "https://auth.test/token/../token", "/token", "",
    "https://auth.test.evil.test/token", "https://auth.test/token\u{E9}",
  ])
  func `T38: a challenge that names another token server is ignored`(_ realm: String) throws {
    #expect(try read("Bearer realm=\"\(realm)\",service=\"s\"") == nil)
  }

  @Test func `a challenge with long values or unprintable bytes is ignored`() throws {
    let bearer = #"Bearer realm="https://auth.test/token""#
    let scopes = (0..<17).map { "repository:r\($0):pull" }.joined(separator: " ")
    for rest in [
      ", scope=\"\(String(repeating: "s", count: 1_025))\"", ", service=\"\(String(repeating: "s", count: 1_025))\"",
      ", scope=\"\(scopes)\"", ", scope=\"a\tb\"", ", service=\"\u{E9}\"", ", scope=\"unterminated", ", realm=x",
    ] {
      #expect(try read(bearer + rest) == nil, "\(rest)")
    }
    #expect(try read(bearer, "Basic realm=\"unterminated") == nil)
  }
}
