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
    #expect(
      scratch.plain(run.output) == """
        GET http://localhost:7070/github/us%65r?access_token=1&page=2

          listener    main, at localhost:7070
          caller      ME
          path        /github/user
          service     github, for https://api.github.com/
          rules       1  /repos/*/*/actions/secrets/**    deny      another path
                      2  /**                              GET,HEAD  decides (github.yaml:13)
                      3  /repos/example/website/issues    POST      not reached
                      4  /repos/example/website/issues/*  PATCH     not reached
          upstream    GET https://api.github.com/user?page=2
          pins        none: any certificate from the system's authorities is accepted
          credential  github, from file DIR/github.token
                      would be suspended for 1 min after 5 rejections in a row
          removed     Authorization
                      Proxy-Authorization
                      access_token (query parameter)
          added       Authorization: Bearer ••••
          redact      errors: the credential is masked in header fields and trailers, and in the body of an error

        The request would be sent.
        No daemon with this file could be asked, and only the daemon knows how many
        requests are open, whether the credential was logged out, whether the
        credential is suspended.

        """)
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
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let all = try Run("explain", "GET", "/a/x", "-H", "Accept-Encoding: gzip", "-c", file)
    #expect(all.output.contains("  removed     Accept-Encoding\n"), "\(all.output)")
    #expect(all.output.contains("  added       Accept-Encoding: identity (by redact: all)\n"))
    #expect(all.output.contains("  redact      all: the credential is masked in the whole response"))
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
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let injected = try Run("explain", "GET", "/a/x", "-H", "Cookie: a=b", "-c", file)
    #expect(injected.output.contains("  cookies     jar of credential a for https://a.example.com\n"))
    #expect(injected.output.contains("  removed     Cookie\n"))
    let bare = try Run("explain", "GET", "/a/bare/x", "-c", file)
    #expect(!bare.output.contains("cookies"), "\(bare.output)")
  }

  @Test
  func `explain prints a refusal's status, code and the line to add`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let run = try Run("explain", "DELETE", "/github/repos/a/b*", "-c", file)
    #expect(run.status == 1)
    #expect(
      scratch.plain(run.output) == """
        DELETE http://localhost:7070/github/repos/a/b*

          listener    main, at localhost:7070
          caller      ME
          path        /github/repos/a/b*
          service     github, for https://api.github.com/
          rules       1  /repos/*/*/actions/secrets/**    deny      another path
                      2  /**                              GET,HEAD  another method
                      3  /repos/example/website/issues    POST      another path
                      4  /repos/example/website/issues/*  PATCH     another path

        Refused: 403 no-rule.
        No rule of this service allows this request.
        To allow this request, add to services.github.rules:

            - { match: "/repos/a/b%2A", methods: [DELETE] }

        """)
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
    var description: String { "\(example) \(request.joined(separator: " "))" }

    init(_ example: String, _ request: [String], _ status: Int32, _ parts: [String]) {
      self.example = example
      self.request = request
      self.status = status
      self.parts = parts
    }
  }

  @Test(arguments: [
    Case(
      "gitlab.yaml", ["GET", "/gitlab/projects/group%2Fwebsite/pipelines"], 0,
      [
        "upstream    GET https://gitlab.example.com/api/v4/projects/group%2Fwebsite/pipelines", "Private-Token: ••••",
        "decides (gitlab.yaml:15)",
      ]),
    Case("gitlab.yaml", ["GET", "/gitlab/projects/other%2Fwebsite/x"], 1, ["Refused: 403 no-rule."]),
    Case(
      "two-headers.yaml", ["POST", "/search/indexes/a/query"], 0,
      [
        "X-Application-Id: ••••", "X-Api-Key: ••••", "X-Organization: ••••", "search.application", "and file",
      ]),
    Case("package-index.yaml", ["GET", "http://packages.localhost:7070/simple/x"], 0, ["Authorization: Basic ••••"]),
    Case("package-index.yaml", ["GET", "http://localhost:7070/simple/x"], 1, ["Refused: 404 no-service."]),
    Case(
      "public-subpaths.yaml", ["GET", "/api/status", "-H", "Authorization: x"], 0,
      [
        "credential  none added, and any credential of the caller is removed", "removed     Authorization",
        "added       nothing",
        "\"public\"",
      ]),
    Case(
      "public-subpaths.yaml", ["POST", "/api/tokens/new"], 1,
      [
        "Refused: 403 denied.", "add above line 13", "\"creates secrets\"",
      ]),
    Case("unix-socket.yaml", ["GET", "/api/x"], 0, ["listener    main, at unix:/run/bearerd/bearerd.sock"]),
    Case("unix-socket.yaml", ["GET", "/api/x", "-H", "Host: whatever.example"], 0, ["The request would be sent"]),
    Case("unix-socket.yaml", ["TRACE", "/api/x"], 1, ["Refused: 405 method-not-supported."]),
    Case(
      "couchdb.yaml", ["GET", "http://localhost:5984/_config/x"], 1,
      [
        "listener    services/couchdb, at localhost:5984", "Refused: 403 denied.",
      ]),
    Case("github.yaml", ["GET", "http://localhost:7071/github/user"], 1, []),
    Case("github.yaml", ["GET", "/github/a/../user"], 1, ["Refused: 400 dot-segment."]),
    Case("github.yaml", ["G(T", "/github/user"], 1, ["Refused: 400 malformed-request.", "badMethod"]),
    Case(
      "github.yaml", ["GET", "/github/user", "-H", "Origin: https://evil.test"], 1,
      ["Refused: 403 origin-not-allowed.", "listeners.main needs", "browsers: { origins: [https://evil.test] }"]),
    Case(
      "github.yaml", ["GET", "/github/user", "-H", "Origin: null"], 1,
      ["Refused: 403 origin-not-allowed.", "Credentials are for programs."]),
    Case(
      "web-page.yaml", ["GET", "/api/x", "-H", "Origin: http://localhost:3000"], 0,
      ["page        http://localhost:3000, listed under browsers", "The request would be sent"]),
    Case(
      "web-page.yaml", ["GET", "/api/x", "-H", "Origin: https://evil.test"], 1,
      ["browsers: { origins: [http://localhost:3000, https://evil.test] }"]),
    Case("web-page.yaml", ["GET", "/api/x", "-H", "Sec-Fetch-Site: cross-site"], 1, ["Refused: 403 cross-site."]),
    Case(
      "web-page.yaml",
      ["OPTIONS", "/api/x", "-H", "Origin: http://localhost:3000", "-H", "Access-Control-Request-Method: GET"], 0,
      ["bearerd would respond itself: the page may send this request."]),
    Case(
      "web-page.yaml",
      ["OPTIONS", "/api/x", "-H", "Origin: http://localhost:3000", "-H", "Access-Control-Request-Method: PUT"], 1,
      ["Refused: 403 no-rule."]),
    Case(
      "github.yaml", ["GET", "/github/user", "-H", "Host: evil.test:7070"], 1,
      ["Refused: 421 host-not-allowed.", "hosts: [\"evil.test:7070\"]"]),
    Case(
      "github.yaml", ["GET", "http://localhost:7070/github/user", "-H", "host:evil.test"], 1,
      ["hosts: [\"evil.test:80\"]"]),
    Case(
      "github.yaml", ["GET", "/github/user", "--user", "4242"], 1,
      [
        "caller      unknown (uid 4242)", "Refused: 403 caller-not-allowed.", "listeners.main needs", ", 4242]",
      ]),
    Case(
      "two-accounts.yaml", ["GET", "/personal/user", "--user", "65533"], 1,
      [
        "Refused: 403 caller-not-allowed.", "services.personal needs",
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
    #expect(run.output.contains("Refused: 403 caller-not-allowed."))
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
    func text(_ arguments: String...) throws -> String {
      try Run(program: Run.binary, ["explain", "GET"] + arguments + ["-c", file]).output
        .split { $0 == "\n" || $0 == " " }.joined(separator: " ")
    }
    let main = try text("/b/x")
    #expect(main.contains("The services of listener main: a (/a/). A path must"), "\(main)")
    #expect(main.contains("Other services: b (on listener sock, at unix:/run/x.sock)."), "\(main)")
    let sock = try text("/a/x", "--listener", "sock")
    #expect(sock.contains("The services of listener sock: b (/b/)."), "\(sock)")
    let idle = try text("http://localhost:7071/a/x")
    #expect(idle.contains("Listener idle has no services. Other services: a (on listener main,"), "\(idle)")
    let out = try text("/b/x", "--listener", "sock", "-H", "Connection: X-Hop", "-H", "X-Hop: 1")
    #expect(out.contains("removed X-Hop added Via (by via: true)"), "\(out)")
  }

  @Test(arguments: [
    (
      "oauth2: { token_url: https://a.example.com/t, grant: client_credentials, client_id: b, client_secret: { file: s } }",
      "after 401, bearerd fetches a new value\n              and sends the request again (with a body of at most 64KiB)"
    ),
    (
      "login: { url: https://a.example.com/l, json: { p: { file: s } }, token: t, replay_buffer: 0, refresh_on: [403, { status: 400, field: a.b, value: gone }] }",
      "after 401 or 403 or 400 with a matching a.b, bearerd fetches a new value\n              and sends the request again (without a body)"
    ),
    (
      "digest: { user: u, password: { file: s }, replay_buffer: 100 }",
      "bearerd responds to a Digest challenge\n              and sends the request again (with a body of at most 100 bytes)"
    ),
    (
      "registry: { realm: https://a.example.com/token, user: u, password: { file: s } }",
      "bearerd responds to a challenge with a token of https://a.example.com/token\n              and sends the request again (with a body"
    ),
    (
      "bearer: { file: s }, mode: challenge",
      "bearerd first sends the request without the credential. After a 401 that\n              asks for Bearer, it sends the request again with the credential (with a body of at most 64KiB)"
    ),
    (
      "basic: { user: u, password: { file: s } }, mode: challenge, replay_buffer: 0",
      "bearerd first sends the request without the credential. After a 401 that\n              asks for Basic, it sends the request again with the credential (without a body)"
    ),
    ("bearer: { file: s }, mode: preemptive", nil),
  ])
  func `explain says after which responses a request is sent again`(_ credential: String, _ line: String?) throws {
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials: { a: { origins: [https://a.example.com], \(credential) } }
      services: { a: { upstream: https://a.example.com/, credential: a } }

      """
    let scratch = try Scratch()
    let run = try Run("explain", "GET", "/a/x", "-c", try scratch.write("bearerd.yaml", text, mode: 0o644))
    #expect(run.errors == "")
    if let line { #expect(run.output.contains("              \(line)"), "\(run.output)") }
    #expect(run.output.contains("again") == (line != nil), "\(run.output)")
  }

  @Test
  func `explain shows whether an upgrade is forwarded or removed`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let run = { try Run("explain", "GET", "/github/user", "-c", file, "-H", "Connection: upgrade", "-H", $0).output }
    #expect(try run("Upgrade: WebSocket").contains("  upgrade     to websocket, if the upstream agrees\n"))
    #expect(try run("Upgrade: h2c").contains("  removed     Upgrade\n"))
  }

  @Test
  func `explain shows pins and their mode`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let pins = [
      "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI=",
    ]
    let text = try String(contentsOfFile: file, encoding: .utf8)
      .replacingOccurrences(
        of: "    credential: github\n", with: "    credential: github\n    pins: [\(pins.joined(separator: ", "))]\n")
    try scratch.write("github.yaml", text, mode: 0o644)
    let run = try Run("explain", "GET", "/github/user", "-c", file)
    #expect(
      run.output.contains("  pins        \(pins[0])\n              \(pins[1])\n              enforced"), "\(run.output)"
    )
  }

  @Test
  func `explain exits with 2 for a configuration with errors and prints the errors`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", "bogus: 1\n", mode: 0o644)
    let run = try Run("explain", "GET", "/a", "-c", file)
    #expect(run.status == 2)
    #expect(run.errors.contains("unknown key \"bogus\""))
    #expect(run.output == "")
  }
}
