import Foundation
import TestSupport
import Testing

@Suite struct UsageTests {
  @Test(arguments: [
    (["chek"], "there is no command \"chek\": did you mean \"check\"?"),
    (["whatever"], "it is one of init, add, remove, env, run, check, explain,"),
    (["check", "--bogus"], "--bogus"),
    (["check", "a.yaml", "b.yaml"], "b.yaml"),
    (["explain", "GET"], "url"),
    (["explain", "/user", "GET"], "The method comes first"),
    (["explain", "GET", "user"], "expected a URL"),
    (["explain", "GET", "https://api.github.com/user"], "begins with http://"),
    (["explain", "GET", "http://me:pw@localhost/"], "without a user name"),
    (["explain", "GET", "/a b"], "spaces or control characters"),
    (["explain", "GET", "/a", "-H", "no colon"], "'Name: value'"),
    (["explain", "GET", "/a", "-H", "A: b\r\nC: d"], "'Name: value'"),
    (["pin"], "target"),
    (["pin", "http:example"], "neither a host nor a file"),
    (["pin", "a,b.example"], "neither a host nor a file"),
    (["demo", "--port", "70000"], "70000"),
  ])
  func `wrong usage exits with 2 and prints only the reason to standard error`(
    arguments: [String], reason: String
  ) throws {
    let run = try Run(program: Run.binary, arguments)
    #expect(run.status == 2)
    #expect(run.errors.contains(reason), "\(run.errors)")
    #expect(run.output == "")
  }

  @Test func `bearerctl --version prints the version`() throws {
    let run = try Run("--version")
    #expect(run.status == 0)
    #expect(run.output.hasPrefix("bearerctl ") && run.output.hasSuffix("\n"))
  }

  @Test(arguments: [
    "check", "explain", "pin", "reload", "demo",
  ])
  func `the help of every command has an example`(command: String) throws {
    let run = try Run(command, "--help")
    #expect(run.status == 0)
    #expect(run.output.contains("\n  bearerctl \(command)"))
    #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test
  func `bearerctl without a command prints the help`() throws {
    let run = try Run()
    #expect(run.status == 0)
    for command in ["check", "explain", "pin", "reload", "demo"] {
      #expect(run.output.contains("  bearerctl \(command)"))
    }
  }
}
