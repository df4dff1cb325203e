import Foundation
import TestSupport
import Testing

/// `bearerctl login`, and its output for a daemon's messages.
@Suite struct LoginTests {
  private static let device = """
    progress open https://login.example/device
    progress code WDJB-MJHT
    progress complete https://login.example/device?c=1
    progress left 90
    progress left 89
    progress note the server \u{1B}[31mis slow
    progress left 59
    ok
    mail is logged in: \u{1B}[31mgood
    The login is kept.

    """

  private func login(_ response: String, _ words: [String] = ["mail"]) throws -> (run: Run, asked: [String]) {
    let scratch = try Scratch()
    let server = try ControlServer(path: "\(scratch.path)/c.sock", responses: [response])
    defer { server.stop() }
    let run = try Run(program: Run.binary, ["login"] + words + ["--control", "\(scratch.path)/c.sock"])
    return (run, server.requests)
  }

  @Test
  func `login prints the URL, the code, the time left and the result`() throws {
    let (run, asked) = try login(Self.device)
    #expect(asked == ["login mail\n"])
    #expect(run.status == 0 && run.errors == "")
    #expect(!run.output.contains("\u{1B}"))
    #expect(run.output == (try golden("login-device.txt", for: run.output)))
  }

  @Test
  func `login prints the URL for the browser, also with --no-browser`() throws {
    let response = "progress open https://login.example/authorize?state=x\nprogress left 5\nok\n"
    for words in [["mail"], ["mail", "--no-browser"]] {
      let (run, _) = try login(response, words)
      #expect(run.status == 0)
      #expect(run.output == (try golden("login-browser.txt", for: run.output)))
    }
  }

  @Test
  func `login exits with 1 and the reason if the login fails`() throws {
    let (run, _) = try login("progress left 90\nerror\nthe login was denied\n")
    #expect(run.status == 1)
    #expect(run.errors == (try golden("login-failed.txt", for: run.errors)))
  }

  @Test(arguments: ["", "progress open https://x/\nprogress left 90\n"])
  func `login exits with 69 if the daemon ends`(said: String) throws {
    let (run, _) = try login(said)
    #expect(run.status == 69)
    let errors = run.errors.replacing(/[^ ]+\/c\.sock/, with: "SOCKET")
    #expect(errors == (try golden("login-lost-daemon.txt", for: errors)))
  }

  @Test(arguments: ["", "mail\nreload", "a\u{7}b"])
  func `login refuses an empty name and control characters`(name: String) throws {
    let (run, asked) = try login("ok\n", [name])
    #expect(run.status == 2 && asked == [])
  }

  @Test
  func `login without a name lists the credentials that have a login, and starts none`() throws {
    let status = StatusDocuments.response(hasTokens: true)
      .replacing("oauth2 client_credentials", with: "oauth2 device_code")
      .replacing(
        "\"drive\",\"kind\":\"oauth2 refresh_token\"", with: "\"drive\",\"kind\":\"oauth2 authorization_code\"")
    let (run, asked) = try login(status, [])
    #expect(run.status == 0 && asked == ["status\n"])
    #expect(run.output == (try golden("login-list.txt", for: run.output)))
    let (none, _) = try login(StatusDocuments.response(), [])
    #expect(none.status == 0 && none.output.hasPrefix("No credential needs a login"))
  }

  @Test
  func `on a terminal login overwrites the time left`() throws {
    let scratch = try Scratch()
    let server = try ControlServer(path: "\(scratch.path)/c.sock", responses: [Self.device])
    defer { server.stop() }
    let terminal = try PseudoTerminal(
      Run.binary, ["login", "mail", "--control", "\(scratch.path)/c.sock"], columns: 100, lines: 30)
    #expect(terminal.waitForExit() == 0)
    #expect(eventually { terminal.output.hasSuffix("is kept.\r\n") })
    let text = terminal.output.replacing("\r\n", with: "\n").replacing("\r", with: "\\r")
      .replacing("\u{1B}", with: "\\e")
    #expect(text == (try golden("login-terminal.txt", for: text)))
  }

  @Test
  func `check reports whether a stored login exists`() throws {
    let scratch = try Scratch()
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials:
        mail:
          origins: [https://api.example.com]
          oauth2:
            token_url: https://login.example.com/token
            grant: device_code
            device_authorization_url: https://login.example.com/device
            client_id: bearerd
            store: mail.login
      services: { mail: { upstream: https://api.example.com/, credential: mail } }

      """
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let missing = scratch.plain(try Run("check", file).output)
    #expect(missing == (try golden("check-without-login.txt", for: missing)))
    try scratch.write("mail.login", "x")
    let stored = scratch.plain(try Run("check", file).output)
    #expect(stored == (try golden("check-with-login.txt", for: stored)))
  }
}
