import Foundation
import TestSupport
import Testing

@Suite struct ExplainTests {
  @Test
  func `explain prints the deciding rule, the other rules and the changed fields`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "CANARY-7c6b5a\n")
    let run = try Run(
      "explain", "GET", "http://localhost:7070/github/us%65r?access_token=1&page=2#top", "--config", file, "-H",
      "Authorization: Bearer mine", "-H", "Accept: */*", "-H", "Proxy-Authorization: mine")
    #expect(run.status == 0)
    #expect(run.errors == "")
    let text = scratch.plain(run.output)
    #expect(text == (try golden("explain-sent.txt", for: text)))
    #expect(!text.contains("CANARY"))
  }

  @Test
  func `explain shows the fields that redact: all changes`() throws {
    let scratch = try Scratch()
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials: { a: { origins: [https://a.example.com], bearer: { file: a.token } } }
      services:
        a: { upstream: https://a.example.com/, credential: a, redact: all }
        b: { upstream: https://b.example.com/, credential: none, redact: all }

      """
    try scratch.write("a.token", "secret-of-a")
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let all = try Run("explain", "GET", "/a/x", "-H", "Accept-Encoding: gzip", "-c", file)
    let output = scratch.plain(all.output)
    #expect(output == (try golden("explain-redact-all.txt", for: output)))
    let none = try Run("explain", "GET", "/b/x", "-H", "Accept-Encoding: gzip", "-c", file)
    #expect(!none.output.contains("redact") && !none.output.contains("Accept-Encoding:"), "\(none.output)")
  }

  @Test
  func `explain shows the cookie jar of a request with a credential`() throws {
    let scratch = try Scratch()
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials: { a: { origins: [https://a.example.com], bearer: { file: a.token } } }
      services:
        a:
          upstream: https://a.example.com/
          credential: a
          cookies: jar
          rules: [{ match: "/bare/**", credential: none }, { match: "/**" }]

      """
    try scratch.write("a.token", "secret-of-a")
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let injected = try Run("explain", "GET", "/a/x", "-H", "Cookie: a=b", "-c", file)
    let output = scratch.plain(injected.output)
    #expect(output == (try golden("explain-cookie-jar.txt", for: output)))
    let bare = try Run("explain", "GET", "/a/bare/x", "-c", file)
    #expect(!bare.output.contains("cookies"), "\(bare.output)")
  }

  @Test
  func `explain prints a refusal's status, code and the line to add`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let run = try Run("explain", "DELETE", "/github/repos/a/b*", "-c", file)
    #expect(run.status == 1)
    let text = scratch.plain(run.output)
    #expect(text == (try golden("explain-refused.txt", for: text)))
  }

  @Test
  func `the line that explain suggests allows the request`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let refused = try Run("explain", "DELETE", "/github/repos/a/b*", "-c", file)
    let line = try #require(refused.output.split(separator: "\n").first { $0.contains("- { match:") })
    let text = try String(contentsOfFile: file, encoding: .utf8) + "  \(line)\n"
    try scratch.write("github.yaml", text.replacingOccurrences(of: "          - {", with: "      - {"), mode: 0o644)
    let run = try Run("explain", "DELETE", "/github/repos/a/b*", "-c", file)
    #expect(run.status == 0, "\(run.output)\(run.errors)")
  }

  struct Case: Sendable, CustomStringConvertible {
    let example: String
    let request: [String]
    let status: Int32
    let parts: [String]
    let golden: String?
    var description: String { "\(example) \(request.joined(separator: " "))" }

    init(_ example: String, _ request: [String], _ status: Int32, _ parts: [String], golden: String? = nil) {
      self.example = example
      self.request = request
      self.status = status
      self.parts = parts
      self.golden = golden
    }
  }

  @Test(arguments: [
    Case(
      "gitlab.yaml", ["GET", "/gitlab/projects/group%2Fwebsite/pipelines"], 0,
      [
        "upstream    GET https://gitlab.example.com/api/v4/projects/group%2Fwebsite/pipelines", "Private-Token: ••••",
        "(gitlab.yaml:15)",
      ]),
    Case("gitlab.yaml", ["GET", "/gitlab/projects/other%2Fwebsite/x"], 1, ["403 no-rule"]),
    Case(
      "two-headers.yaml", ["POST", "/search/indexes/a/query"], 0,
      [
        "X-Application-Id: ••••", "X-Api-Key: ••••", "X-Organization: ••••", "search.application", "and file",
      ]),
    Case("package-index.yaml", ["GET", "http://packages.localhost:7070/simple/x"], 0, ["Authorization: Basic ••••"]),
    Case("package-index.yaml", ["GET", "http://localhost:7070/simple/x"], 1, ["404 no-service"]),
    Case(
      "public-subpaths.yaml", ["GET", "/api/status", "-H", "Authorization: x"], 0,
      ["removed     Authorization", "added       nothing", "\"public\""], golden: "explain-public-path.txt"),
    Case(
      "public-subpaths.yaml", ["POST", "/api/tokens/new"], 1,
      ["403 denied", "line 13", "\"creates secrets\""]),
    Case(
      "server-name.yaml", ["GET", "/wiki/x"], 0,
      [
        "upstream    GET https://wiki.corp.example.com:8443/x",
        "bearerd connects to localhost:8443, and verifies wiki.corp.example.com",
      ]),
    Case("unix-socket.yaml", ["GET", "/api/x"], 0, ["listener    main, at unix:/run/bearerd/bearerd.sock"]),
    Case(
      "unix-socket.yaml", ["GET", "/api/x", "-H", "Host: whatever.example"], 0,
      ["upstream    GET https://api.example.com/x"]),
    Case("unix-socket.yaml", ["TRACE", "/api/x"], 1, ["405 method-not-supported"]),
    Case(
      "couchdb.yaml", ["GET", "http://localhost:5984/_config/x"], 1,
      [
        "listener    services/couchdb, at localhost:5984", "403 denied",
      ]),
    Case("github.yaml", ["GET", "http://localhost:7071/github/user"], 1, []),
    Case("github.yaml", ["GET", "/github/a/../user"], 1, ["400 dot-segment"]),
    Case("github.yaml", ["G(T", "/github/user"], 1, ["400 malformed-request", "badMethod"]),
    Case(
      "github.yaml", ["GET", "/github/user", "-H", "Origin: https://evil.test"], 1,
      ["403 origin-not-allowed", "listeners.main ", "browsers: { origins: [https://evil.test] }"]),
    Case(
      "github.yaml", ["GET", "/github/user", "-H", "Origin: null"], 1,
      ["403 origin-not-allowed"], golden: "explain-null-origin.txt"),
    Case(
      "web-page.yaml", ["GET", "/api/x", "-H", "Origin: http://localhost:3000"], 0,
      ["page        http://localhost:3000, "]),
    Case(
      "web-page.yaml", ["GET", "/api/x", "-H", "Origin: https://evil.test"], 1,
      ["browsers: { origins: [http://localhost:3000, https://evil.test] }"]),
    Case("web-page.yaml", ["GET", "/api/x", "-H", "Sec-Fetch-Site: cross-site"], 1, ["403 cross-site"]),
    Case(
      "web-page.yaml",
      ["OPTIONS", "/api/x", "-H", "Origin: http://localhost:3000", "-H", "Access-Control-Request-Method: GET"], 0,
      ["page "], golden: "explain-preflight.txt"),
    Case(
      "web-page.yaml",
      ["OPTIONS", "/api/x", "-H", "Origin: http://localhost:3000", "-H", "Access-Control-Request-Method: PUT"], 1,
      ["403 no-rule"]),
    Case(
      "github.yaml", ["GET", "/github/user", "-H", "Host: evil.test:7070"], 1,
      ["421 host-not-allowed", "hosts: [\"evil.test:7070\"]"]),
    Case(
      "github.yaml", ["GET", "http://localhost:7070/github/user", "-H", "host:evil.test"], 1,
      ["hosts: [\"evil.test:80\"]"]),
    Case(
      "github.yaml", ["GET", "/github/user", "--user", "4242"], 1,
      [
        "(uid 4242)", "403 caller-not-allowed", "listeners.main ", ", 4242]",
      ]),
    Case(
      "two-accounts.yaml", ["GET", "/personal/user", "--user", "65533"], 1,
      [
        "403 caller-not-allowed", "services.personal ",
      ]),
    Case("github.yaml", ["GET", "localhost:7070/github/user"], 0, ["GET http://localhost:7070/github/user"]),
    Case("two-accounts.yaml", ["GET", "/robot/user"], 1, ["match: \"/user\", methods: [GET]"]),
    Case("github.yaml", ["GET", "/github/user", "--listener", "other"], 2, []),
    Case("github.yaml", ["GET", "/github/user", "--user", "nobody-has-this-name"], 2, []),
  ])
  func `explain gives the expected decision for requests to the examples`(row: Case) throws {
    let scratch = try Scratch()
    let file = try example(row.example, in: scratch)
    if row.example == "couchdb.yaml" { try makeAuthority(in: scratch) }
    let run = try Run(program: Run.binary, ["explain"] + row.request + ["--config", file])
    #expect(run.status == row.status, "\(run.output)\(run.errors)")
    for part in row.parts { #expect(run.output.contains(part), "\(part) in\n\(run.output)") }
    if let name = row.golden {
      let text = scratch.plain(run.output)
      #expect(text == (try golden(name, for: text)))
    }
    #expect(run.errors.isEmpty == !row.parts.isEmpty)
  }

  @Test
  func `explain refuses a caller whom the credential does not allow`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let text = try String(contentsOfFile: file, encoding: .utf8)
      .replacingOccurrences(
        of: "bearer: { file: github.token }", with: "bearer: { file: github.token }, allow_users: [4242]")
    try scratch.write("github.yaml", text, mode: 0o644)
    let run = try Run("explain", "GET", "/github/user", "-c", file)
    #expect(run.status == 1)
    #expect(run.output.contains("403 caller-not-allowed"))
    let cleared = try Run("explain", "GET", "/github/user", "-c", file, "-u", "4242")
    #expect(cleared.status == 1, "the listener does not admit that user")
  }

  @Test
  func `explain lists the services of this listener and of other listeners for an unknown path`() throws {
    let scratch = try Scratch()
    let file = try scratch.write(
      "bearerd.yaml",
      """
      listeners:
        main: { address: localhost:7070, allow_users: [\(getuid())] }
        sock: { address: "unix:/run/x.sock", allow_users: [\(getuid())] }
        idle: { address: localhost:7071, allow_users: [\(getuid())] }
      services:
        a: { upstream: https://a.example/, credential: none }
        b: { upstream: https://b.example/, credential: none, listener: sock, via: true }

      """, mode: 0o644)
    let runs = [
      ["/b/x"], ["/a/x", "--listener", "sock"], ["http://localhost:7071/a/x"],
      ["/b/x", "--listener", "sock", "-H", "Connection: X-Hop", "-H", "X-Hop: 1"],
    ]
    let text = try runs.map { request in
      let arguments = ["explain", "GET"] + request
      return transcript(arguments, scratch.plain(try Run(program: Run.binary, arguments + ["-c", file]).output))
    }.joined()
    #expect(text == (try golden("explain-listeners.txt", for: text)))
  }

  @Test(arguments: [
    (
      "oauth2: { token_url: https://a.example.com/t, grant: client_credentials, client_id: b, client_secret: { file: s } }",
      "oauth2"
    ),
    (
      "login: { url: https://a.example.com/l, json: { p: { file: s } }, token: t, replay_buffer: 0, refresh_on: [403, { status: 400, field: a.b, value: gone }] }",
      "login"
    ),
    (
      "digest: { user: u, password: { file: s }, replay_buffer: 100, realm: Cameras }",
      "digest"
    ),
    ("registry: { realm: https://a.example.com/token, user: u, password: { file: s } }", "registry"),
    ("bearer: { file: s }, mode: challenge", "bearer-challenge"),
    ("basic: { user: u, password: { file: s } }, mode: challenge, replay_buffer: 0, realm: 'a b'", "basic-challenge"),
    ("bearer: { file: s }, mode: preemptive", nil),
  ])
  func `explain says after which responses a request is sent again`(_ credential: String, _ name: String?) throws {
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials: { a: { origins: [https://a.example.com], \(credential) } }
      services: { a: { upstream: https://a.example.com/, credential: a } }

      """
    let scratch = try Scratch()
    try scratch.write("s", "secret-of-a")
    let run = try Run("explain", "GET", "/a/x", "-c", try scratch.write("bearerd.yaml", text, mode: 0o644))
    #expect(run.errors == "")
    let output = scratch.plain(run.output)
    if let name { #expect(output == (try golden("explain-again-\(name).txt", for: output))) }
    #expect(output.contains("again") == (name != nil), "\(output)")
  }

  @Test
  func `explain shows whether an upgrade is forwarded or removed`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "secret-of-github")
    let run = { try Run("explain", "GET", "/github/user", "-c", file, "-H", "Connection: upgrade", "-H", $0).output }
    let text = try ["Upgrade: WebSocket", "Upgrade: h2c"].map { scratch.plain(try run($0)) }.joined(separator: "\n")
    #expect(text == (try golden("explain-upgrade.txt", for: text)))
  }

  @Test
  func `explain shows which requests are repeated after an upstream failure`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "secret-of-github")
    let text = try String(contentsOfFile: file, encoding: .utf8)
      .replacingOccurrences(
        of: "    credential: github\n",
        with: "    credential: github\n    retry: { on: [503], attempts: 3, at_most: 800ms }\n")
    try scratch.write("github.yaml", text, mode: 0o644)
    let line = { (arguments: [String]) -> Substring in
      let output = try Run(program: Run.binary, ["explain"] + arguments + ["-c", file]).output
      return output.split(separator: "\n").first { $0.contains("attempt") } ?? ""
    }
    let get = try line(["GET", "/github/user"])
    #expect(get.contains("retry ") && get.contains("3 more attempts within 800 ms after 503"))
    #expect(try line(["POST", "/github/repos/example/website/issues"]).contains("only if no connection can be opened"))
    let upgrade = ["-H", "Connection: upgrade", "-H", "Upgrade: websocket"]
    #expect(try line(["GET", "/github/user"] + upgrade).isEmpty)
  }

  @Test
  func `explain shows pins and their mode`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "secret-of-github")
    let pins = [
      "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI=",
    ]
    let text = try String(contentsOfFile: file, encoding: .utf8)
      .replacingOccurrences(
        of: "    credential: github\n", with: "    credential: github\n    pins: [\(pins.joined(separator: ", "))]\n")
    try scratch.write("github.yaml", text, mode: 0o644)
    let run = try Run("explain", "GET", "/github/user", "-c", file)
    let output = scratch.plain(run.output)
    #expect(pins.allSatisfy { output.contains($0) })
    #expect(output == (try golden("explain-pins.txt", for: output)))
  }

  @Test
  func `T13: explain masks the secret in the target, and names the query parameter`() throws {
    let scratch = try Scratch()
    try scratch.write("canary.token", "CANARY-7c6b5a\n")
    let file = try scratch.write(
      "bearerd.yaml",
      """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials:
        canary: { origins: [https://a.example.com], query: { name: api_key, value: { file: canary.token } } }
      services: { api: { upstream: https://a.example.com/base/, credential: canary } }

      """, mode: 0o644)
    let run = try Run("explain", "GET", "/api/x?a=1&api_key=mine", "--config", file)
    #expect(run.status == 0)
    #expect(run.output.contains("https://a.example.com/base/x?a=1&api_key=••••"))
    #expect(run.output.contains("api_key (query parameter)"))
    #expect(!run.output.contains("mine&") && !run.output.contains("CANARY"))
  }

  @Test
  func `explain exits with 2 for a configuration with errors and prints the errors`() throws {
    let scratch = try Scratch()
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      services: { a: { upstream: https://a.example.com/, credential: none } }
      bogus: 1

      """
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let run = try Run("explain", "GET", "/a", "-c", file)
    #expect(run.status == 2)
    let errors = scratch.plain(run.errors)
    #expect(errors == (try golden("explain-invalid.txt", for: errors)))
    #expect(run.output == "")
  }
}
