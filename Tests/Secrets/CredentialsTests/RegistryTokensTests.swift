import HTTP1
import Policy
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// The store of tokens that registries have granted.
@Suite struct RegistryTokensTests {
  private let arena = SecretArena()

  private func target(_ line: String) -> RegistryTarget {
    RegistryTarget(OutgoingRequest("\(line) HTTP/1.1"))
  }

  private func challenge(_ scope: String) throws -> RegistryChallenge {
    let line = #"Bearer realm="https://auth.test/token", scope="\#(scope)""#
    return try #require(
      RegistryChallenge.find(
        in: DigestTests.head(line), realm: try Endpoint(parsing: "https://auth.test/token")))
  }

  private func put(
    _ token: String, _ scope: String, _ tokens: RegistryTokens, _ origin: Origin, at now: UInt64 = 0
  ) throws {
    var secret = try Secret(capacity: 16, in: arena)
    try secret.append(token)
    try tokens.put(secret, for: try challenge(scope), of: origin, lifetime: 100, at: now, in: arena)
  }

  private func line(
    _ tokens: RegistryTokens, _ request: String, _ origin: Origin, at now: UInt64 = 0
  ) throws -> String {
    var line = try Secret(capacity: 16, in: arena)
    let serial = try tokens.append(to: &line, for: target(request), of: origin, at: now)
    let text = line.withBytes { String(decoding: $0, as: UTF8.self) }
    #expect((serial == nil) == text.isEmpty)
    return text
  }

  @Test
  func `a registry target is a repository with read, write or delete access`() throws {
    #expect(target("GET /v2/a/b/manifests/latest") == target("HEAD /v2/a/b/blobs/sha256:1"))
    #expect(target("GET /v2/a/b/manifests/1") != target("GET /v2/a/c/manifests/1"))
    #expect(target("POST /v2/a/b/blobs/uploads/") == target("PATCH /v2/a/b/blobs/uploads/1?_state=/manifests/"))
    #expect(target("PUT /v2/a/b/manifests/1") == target("PATCH /v2/a/b/blobs/uploads/1"))
    #expect(target("DELETE /v2/a/b/manifests/1") != target("PUT /v2/a/b/manifests/1"))
    // A repository may have a name such as "blobs".
    #expect(target("GET /v2/a/blobs/manifests/1") == target("GET /v2/a/blobs/tags/list"))
    #expect(target("GET /v2/") != target("GET /v2/_catalog"))
  }

  @Test
  func `a registry token is sent only to its registry, for its repository and access`() throws {
    let (tokens, one, other) = (RegistryTokens(), try origin("https://one.test"), try origin("https://two.test"))
    tokens.learn(try challenge("repository:a:pull"), for: target("GET /v2/a/tags/list"), of: one)
    #expect(try line(tokens, "GET /v2/a/manifests/1", one).isEmpty)
    try put("TOKEN", "repository:a:pull", tokens, one)
    #expect(try line(tokens, "GET /v2/a/manifests/1", one) == "Authorization: Bearer TOKEN\r\n")
    for request in ["PUT /v2/a/manifests/1", "GET /v2/b/manifests/1", "GET /v2/"] {
      #expect(try line(tokens, request, one).isEmpty)
    }
    #expect(try line(tokens, "GET /v2/a/manifests/1", other).isEmpty)
  }

  @Test
  func `T40: an expired registry token is not sent`() throws {
    let (tokens, origin) = (RegistryTokens(), try origin("https://one.test"))
    tokens.learn(try challenge("s"), for: target("GET /v2/a/tags/list"), of: origin)
    try put("OLD", "s", tokens, origin, at: 1_000)
    #expect(try line(tokens, "GET /v2/a/tags/list", origin, at: 1_099).contains("OLD"))
    #expect(try line(tokens, "GET /v2/a/tags/list", origin, at: 1_100).isEmpty)
    try put("NEW", "s", tokens, origin, at: 1_050)
    #expect(try line(tokens, "GET /v2/a/tags/list", origin, at: 1_060).contains("NEW"))
    tokens.forget()
    #expect(try line(tokens, "GET /v2/a/tags/list", origin, at: 1_060).isEmpty)
  }

  @Test
  func `clients and upstreams cannot fill the memory with registry tokens`() throws {
    let (tokens, origin) = (RegistryTokens(), try origin("https://one.test"))
    for index in 0..<300 {
      tokens.learn(try challenge("s\(index)"), for: target("GET /v2/\(index)/tags/list"), of: origin)
      try put("T\(index)", "s\(index)", tokens, origin)
    }
    #expect(try line(tokens, "GET /v2/299/tags/list", origin).contains("T299"))
    #expect(try line(tokens, "GET /v2/235/tags/list", origin).isEmpty)
    try put("AGAIN", "s1", tokens, origin)
    #expect(try line(tokens, "GET /v2/1/tags/list", origin).isEmpty)
  }
}
