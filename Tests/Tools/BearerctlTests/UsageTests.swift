import Foundation
import TestSupport
import Testing

@Suite struct UsageTests {
  @Test func `wrong usage exits with 2 and prints only the reason to standard error`() throws {
    var text = ""
    for arguments in [
      ["chek"], ["whatever"], ["check", "--bogus"], ["check", "a.yaml", "b.yaml"], ["explain", "GET"],
      ["explain", "/user", "GET"], ["explain", "GET", "user"], ["explain", "GET", "https://api.github.com/user"],
      ["explain", "GET", "http://me:pw@localhost/"], ["explain", "GET", "/a b"],
      ["explain", "GET", "/a", "-H", "no colon"], ["explain", "GET", "/a", "-H", "A: b\r\nC: d"], ["pin"],
      ["pin", "http:example"], ["pin", "a,b.example"], ["demo", "--port", "70000"],
    ] {
      let run = try Run(program: Run.binary, arguments)
      #expect(run.status == 2 && run.output == "", "\(arguments)")
      text += transcript(arguments, run.errors)
    }
    #expect(text == (try golden("wrong-usage.txt", for: text)))
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
