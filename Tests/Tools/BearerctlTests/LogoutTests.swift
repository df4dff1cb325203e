import Foundation
import TestSupport
import Testing

/// `bearerctl logout`: what it says of what the daemon did, and its exit code.
@Suite struct LogoutCommandTests {
  private static let cut =
    "\"waiting\":0,\"under_way\":1,\"answers\":2,\"upgraded\":0,\"idle\":3,\"resumable\":0,\"cookies\":1"

  private static func answer(
    kind: String = "oauth2 refresh_token", cut: String = cut, login: Bool = true, commands: Bool = false,
    sources: String = "\"token endpoint https://login.example.com/t\"", more: String = ""
  ) -> String {
    """
    ok
    {"credential":"mail","kind":"\(kind)","sources":[\(sources)],"cut":{\(cut)},"login":\(login),"reload_only":\(commands)\(more)}
    """
  }

  private func run(_ answer: String, _ options: String...) throws -> Run {
    let scratch = try Scratch()
    let server = try ControlServer(path: "\(scratch.path)/c.sock", answers: [answer])
    defer { server.stop() }
    let run = try Run(program: Run.binary, ["logout", "mail", "--control", "\(scratch.path)/c.sock"] + options)
    #expect(server.requests == ["logout mail\n"])
    return run
  }

  @Test func `what was cut, wiped and revoked`() throws {
    let more =
      ",\"store\":\"/var/lib/bearerd/mail.login\",\"problem\":null,\"revocation\":\"https://login.example.com/r\","
      + "\"revoked\":[{\"token\":\"refresh_token\",\"problem\":null},{\"token\":\"access_token\",\"problem\":null}]"
    let run = try run(Self.answer(more: more))
    #expect(run.status == 0)
    #expect(
      run.output == """
        logged out: mail (oauth2 refresh_token)
          cut: 1 request in progress, 2 responses in progress, 3 idle connections, 1 cookie
          wiped: /var/lib/bearerd/mail.login, which now records only the logout
          revoked: refresh token, access token, at https://login.example.com/r
        Requests with this credential get 503 (login-required) until you put a new refresh token into its source.

        """)
    let account = try self.run(Self.answer(kind: "oauth2 device_code", more: more))
    #expect(account.output.hasSuffix("until you log in again: bearerctl login mail\n"), "\(account.output)")
  }

  @Test func `what could not be done is said, and the exit code says so as well`() throws {
    let more =
      ",\"store\":\"/x\",\"problem\":\"the disk is \\u001bfull\",\"revocation\":\"https://login.example.com/r\","
      + "\"revoked\":[{\"token\":\"refresh_token\",\"problem\":null},{\"token\":\"access_token\",\"problem\":\"it did not answer\"}]"
    let run = try run(Self.answer(more: more))
    #expect(run.status == 1)
    #expect(run.output.contains("  not wiped: the disk is ?full\n"), "\(run.output)")
    #expect(run.output.contains("  revoked: refresh token, at https://login.example.com/r\n"), "\(run.output)")
    #expect(run.output.contains("  not revoked: access token: it did not answer\n"), "\(run.output)")
  }

  @Test func `without a place to revoke at, that is said, and is no failure`() throws {
    let run = try run(Self.answer(more: ",\"store\":\"/x\",\"problem\":null,\"revocation\":null,\"revoked\":[]"))
    #expect(run.status == 0 && run.output.contains("  not revoked: revocation_url is not set"), "\(run.output)")
  }

  @Test func `of a file and of a program it says what brings them back`() throws {
    let nothing = Self.cut.replacing("1", with: "0").replacing("2", with: "0").replacing("3", with: "0")
    let file = try run(
      Self.answer(kind: "bearer", cut: nothing, login: false, sources: "\"file /etc/bearerd/mail.token\""))
    #expect(
      file.output == """
        logged out: mail (bearer)
          cut: nothing was using it
        Requests with this credential get 503 (login-required) until you replace the secret or run bearerctl reload. \
        The secret itself is not deleted: file /etc/bearerd/mail.token

        """)
    let program = try run(Self.answer(kind: "basic", login: false, commands: true, sources: "\"command /bin/x\""))
    #expect(program.output.contains("until you run bearerctl reload. The secret"), "\(program.output)")
  }

  @Test func `json is the daemon's answer as it is`() throws {
    let run = try run(Self.answer(), "--json")
    #expect(run.status == 0 && run.output == Self.answer().dropFirst(3) + "\n")
  }

  @Test func `the daemon's no is 1, and what is not bearerd is not believed`() throws {
    let no = try run("error\nThere is no credential \"mail\" in the configuration in use.\n")
    #expect(no.status == 1 && no.errors.contains("There is no credential"), "\(no.errors)")
    let other = try run("ok\n{}")
    #expect(other.status == 69 && other.errors.contains("another version"), "\(other.errors)")
  }
}
