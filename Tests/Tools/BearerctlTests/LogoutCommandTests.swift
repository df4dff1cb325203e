import Foundation
import TestSupport
import Testing

/// Output and exit code of `bearerctl logout`.
@Suite struct LogoutCommandTests {
  private static let cut =
    "\"waiting\":0,\"under_way\":1,\"answers\":2,\"upgraded\":0,\"idle\":3,\"resumable\":0,\"cookies\":1"

  private static func response(
    kind: String = "oauth2 refresh_token", cut: String = cut, login: Bool = true, commands: Bool = false,
    sources: String = "\"token endpoint https://login.example.com/t\"", more: String = ""
  ) -> String {
    """
    ok
    {"credential":"mail","kind":"\(kind)","sources":[\(sources)],"cut":{\(cut)},"login":\(login),"reload_only":\(commands)\(more)}
    """
  }

  private func run(_ response: String, _ options: String...) throws -> Run {
    let scratch = try Scratch()
    let server = try ControlServer(path: "\(scratch.path)/c.sock", responses: [response])
    defer { server.stop() }
    let run = try Run(program: Run.binary, ["logout", "mail", "--control", "\(scratch.path)/c.sock"] + options)
    #expect(server.requests == ["logout mail\n"])
    return run
  }

  @Test func `logout prints what was cut, wiped and revoked`() throws {
    let more =
      ",\"store\":\"/var/lib/bearerd/mail.login\",\"problem\":null,\"revocation\":\"https://login.example.com/r\","
      + "\"revoked\":[{\"token\":\"refresh_token\",\"problem\":null},{\"token\":\"access_token\",\"problem\":null}]"
    let run = try run(Self.response(more: more))
    #expect(run.status == 0)
    #expect(run.output == (try golden("logout.txt", for: run.output)))
    let account = try self.run(Self.response(kind: "oauth2 device_code", more: more))
    #expect(account.output == (try golden("logout-account.txt", for: account.output)))
  }

  @Test func `logout prints failures and exits with 1`() throws {
    let more =
      ",\"store\":\"/x\",\"problem\":\"the disk is \\u001bfull\",\"revocation\":\"https://login.example.com/r\","
      + "\"revoked\":[{\"token\":\"refresh_token\",\"problem\":null},{\"token\":\"access_token\",\"problem\":\"it did not answer\"}]"
    let run = try run(Self.response(more: more))
    #expect(run.status == 1)
    #expect(!run.output.contains("\u{1B}"))
    #expect(run.output == (try golden("logout-failed.txt", for: run.output)))
  }

  @Test func `logout without revocation_url is reported, but is not a failure`() throws {
    let run = try run(Self.response(more: ",\"store\":\"/x\",\"problem\":null,\"revocation\":null,\"revoked\":[]"))
    #expect(run.status == 0)
    #expect(run.output == (try golden("logout-without-revocation.txt", for: run.output)))
  }

  @Test func `logout says what ends the logout of a file or a command`() throws {
    let nothing = Self.cut.replacing("1", with: "0").replacing("2", with: "0").replacing("3", with: "0")
    let file = try run(
      Self.response(kind: "bearer", cut: nothing, login: false, sources: "\"file /etc/bearerd/mail.token\""))
    #expect(file.output == (try golden("logout-file.txt", for: file.output)))
    let program = try run(Self.response(kind: "basic", login: false, commands: true, sources: "\"command /bin/x\""))
    #expect(program.output == (try golden("logout-command.txt", for: program.output)))
  }

  @Test func `logout --json prints the daemon's response unchanged`() throws {
    let run = try run(Self.response(), "--json")
    #expect(run.status == 0 && run.output == Self.response().dropFirst(3) + "\n")
  }

  private func runAll(_ response: String, _ words: [String]) throws -> (run: Run, asked: [String]) {
    let scratch = try Scratch()
    let server = try ControlServer(path: "\(scratch.path)/c.sock", responses: [response])
    defer { server.stop() }
    return (try Run(program: Run.binary, ["logout", "--control", "\(scratch.path)/c.sock"] + words), server.requests)
  }

  @Test func `logout of several credentials prints each result, and exits with 1 if one failed`() throws {
    let good = Self.response(sources: "\"file /a\"").dropFirst(3)
    let bad = Self.response(
      more: ",\"store\":\"/x\",\"problem\":\"the disk is full\",\"revocation\":null,\"revoked\":[]"
    )
    .dropFirst(3)
    func response(_ all: String, _ failed: String = "") -> String {
      "ok\n{\"credentials\":[\(all)],\"failed\":[\(failed)]}"
    }
    let failed = "{\"credential\":\"chat\",\"problem\":\"\\\"chat\\\" is already being \\u001blogged out.\"}"
    let all = try runAll(response("\(good),\(bad)", failed), ["--all"])
    #expect(all.run.status == 1 && all.asked == ["logout-all\n"])
    #expect(!all.run.output.contains("\u{1B}"))
    #expect(all.run.output == (try golden("logout-all.txt", for: all.run.output)))
    let service = try runAll(response("\(good)"), ["--service", "mail"])
    #expect(service.run.status == 0 && service.asked == ["logout-service mail\n"])
    for wrong in [response("\(bad)"), response("", failed)] { #expect(try runAll(wrong, ["--all"]).run.status == 1) }
    let none = try runAll(response(""), ["--all", "--json"])
    #expect(none.run.status == 0 && none.run.output == response("").dropFirst(3) + "\n")
    #expect(try runAll(response(""), ["--all"]).run.output == "There is no credential to log out.\n")
  }

  @Test(arguments: [[], ["mail", "--all"], ["--all", "--service", "mail"], ["--service", ""], ["a\nreload"]])
  func `logout needs exactly one name, --service or --all`(words: [String]) throws {
    let (run, asked) = try runAll("ok\n", words)
    #expect(run.status == 2 && asked.isEmpty)
  }

  @Test func `logout exits with 1 for the daemon's error and with 69 for an unknown response`() throws {
    let no = try run("error\nThere is no credential \"mail\" in the configuration in use.\n")
    let other = try run("ok\n{}")
    #expect(no.status == 1 && other.status == 69)
    let errors = (no.errors + other.errors).replacing(/[^ ]+\/c\.sock/, with: "SOCKET")
    #expect(errors == (try golden("logout-errors.txt", for: errors)))
  }
}
