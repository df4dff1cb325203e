import Foundation
import TestSupport
import Testing

@Suite struct CheckTests {
  @Test(arguments: exampleNames())
  func `every example is valid, with warnings only about missing secrets`(name: String) throws {
    let scratch = try Scratch()
    let file = try example(name, in: scratch)
    try scratch.write("ca.pem", "-----BEGIN CERTIFICATE-----\n")
    if name == "couchdb.yaml" { try makeAuthority(in: scratch) }
    let run = try Run("check", file)
    #expect(run.status == 0, "\(run.output)")
    #expect(run.errors == "")
    #expect(!run.output.contains("error:"))
    #expect(run.output.split(separator: "\n").last?.hasPrefix("\(file): fine: ") == true, "\(run.output)")
    let warnings = run.output.split(separator: "\n").filter { $0.contains(": warning: ") }
    // The second warning is about the replacement of the group "developers", if root runs the tests.
    let expected = [" get 503", " allow_users "]
    #expect(warnings.allSatisfy { warning in expected.contains { warning.contains($0) } }, "\(warnings)")
  }

  @Test
  func `check prints findings, the state of each source, and a summary`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "secret-of-github\n")
    let run = try Run("check", file)
    #expect(run.status == 0)
    let text = scratch.plain(run.output)
    #expect(text == (try golden("check-findings.txt", for: text)))
  }

  @Test
  func `check reports a secret that is too short to be masked`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "secret\n")
    let run = try Run("check", file)
    #expect(run.status == 0)
    let text = scratch.plain(run.output)
    #expect(text == (try golden("check-short-secret.txt", for: text)))
  }

  @Test
  func `check prints all errors to standard output and exits with 2`() throws {
    let scratch = try Scratch()
    let text = """
      listeners:
        main: { address: localhost:7070, allow_users: [\(getuid())] }
      credentials:
        github: { origns: [https://api.github.com], bearer: { file: github.token } }
      services:
        github: { upstream: http://api.github.com/, credential: githup }

      """
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let run = try Run("check", file)
    #expect(run.status == 2)
    let output = scratch.plain(run.output)
    #expect(output.contains("DIR/bearerd.yaml:4:13: error: ") && output.contains("DIR/bearerd.yaml:6:"), "\(output)")
    #expect(output == (try golden("check-errors.txt", for: output)))
  }

  @Test
  func `check exits with 2 for a missing file and tells how to create the file`() throws {
    let scratch = try Scratch()
    let run = try Run("check", "\(scratch.path)/none.yaml")
    #expect(run.status == 2)
    let text = scratch.plain(run.output)
    #expect(text == (try golden("check-no-file.txt", for: text)))
  }

  @Test
  func `a warning changes the exit code only with --strict`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let lenient = try Run("check", file)
    #expect(lenient.status == 0)
    let text = scratch.plain(lenient.output)
    #expect(text == (try golden("check-missing-secret.txt", for: text)))
    #expect(try Run("check", "--strict", file).status == 1)
    try scratch.write("github.token", "secret\n")
    #expect(try Run("check", "--strict", file).status == 0)
  }

  @Test
  func `check --as checks a file or standard input as if at another path`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("there/github.token", "secret-of-github\n")
    let targetPath = "\(scratch.path)/there/bearerd.yaml"
    let moved = try Run("check", file, "--as", targetPath)
    #expect(moved.status == 0, "\(moved)")
    let text = scratch.plain(moved.output)
    #expect(text == (try golden("check-as.txt", for: text)))
    let piped = try Run(
      program: "/bin/sh", ["-c", "exec \(Run.binary) check - --as \(targetPath) < \(file)"])
    #expect(piped.status == 0 && piped.output == moved.output, "\(piped)")
    let broken = try Run(
      program: "/bin/sh", ["-c", "echo 'services: { a: { upstrem: x } }' | \(Run.binary) check - --as \(targetPath)"])
    #expect(
      broken.status == 2 && scratch.plain(broken.output).contains("DIR/there/bearerd.yaml:1:18: error"), "\(broken)")
    let missing = try Run("check", "\(scratch.path)/none.yaml", "--as", targetPath)
    let reason = scratch.plain(missing.errors)
    #expect(missing.status == 2)
    #expect(reason == (try golden("check-as-no-file.txt", for: reason)))
  }

  @Test
  func `repeated advice is printed once, with the other line numbers`() throws {
    let scratch = try Scratch()
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials: { api: { origins: [https://a.example.com, https://b.example.com], bearer: { file: api.token } } }
      services:
        a: { upstream: https://a.example.com/, credential: api, rules: [{ match: "/**" }] }
        b: { upstream: https://b.example.com/, credential: api, rules: [{ match: "/**" }] }
        c: { upstream: https://b.example.com/, credential: api }

      """
    let run = try Run("check", try scratch.write("bearerd.yaml", text, mode: 0o644))
    #expect(run.status == 0, "\(run)")
    let output = scratch.plain(run.output)
    #expect(output == (try golden("check-repeated-advice.txt", for: output)))
  }

  @Test
  func `check warns of a secret that others can read and prints the chmod command`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "CANARY-1f2e3d\n", mode: 0o604)
    let run = try Run("check", file, "--strict")
    #expect(run.status == 1)
    let text = scratch.plain(run.output)
    #expect(text == (try golden("check-readable-secret.txt", for: text)))
    #expect(!run.output.contains("CANARY"))
    try scratch.write("github.token", "")
    let empty = try Run("check", file, "--strict")
    let emptyText = scratch.plain(empty.output)
    #expect(empty.status == 1)
    #expect(emptyText == (try golden("check-empty-secret.txt", for: emptyText)))
  }

  @Test
  func `T42: check neither runs a command nor prints its arguments`() throws {
    let scratch = try Scratch()
    let program = try scratch.write("helper", "#!/bin/sh\ntouch \(scratch.path)/ran\n", mode: 0o700)
    let configuration = """
      listeners:
        main: { address: localhost:7070, allow_users: [\(getuid())] }
      credentials:
        api:
          origins: [https://api.example.com]
          bearer:
            command:
              - \(program)
              - --token=CANARY-1f2e3d
      services:
        api: { upstream: https://api.example.com/, credential: api, rules: [{ match: "/**" }] }

      """
    let file = try scratch.write("bearerd.yaml", configuration, mode: 0o644)
    let check = try Run("check", file)
    #expect(check.status == 0)
    let text = scratch.plain(check.output)
    #expect(text.contains("DIR/bearerd.yaml:9:"))
    #expect(text == (try golden("check-command.txt", for: text)))
    let explain = try Run("explain", "GET", "/api/x", "--config", file)
    #expect(explain.status == 0)
    let explained = scratch.plain(explain.output)
    #expect(explained == (try golden("explain-command.txt", for: explained)))
    for run in [check, explain] { #expect(!run.output.contains("CANARY")) }
    chmod(program, 0o777)
    let refused = try Run("check", file)
    #expect(refused.status == 2)
    let refusedText = scratch.plain(refused.output)
    #expect(refusedText == (try golden("check-writable-command.txt", for: refusedText)))
    #expect(access("\(scratch.path)/ran", F_OK) != 0)
  }

  @Test
  func `T58: check predicts a start's errors about the audit file without creating the file`() throws {
    let scratch = try Scratch()
    func check(_ path: String, as words: [String] = []) throws -> (status: Int32, text: String) {
      let text = """
        listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
        services: { api: { upstream: https://api.example.com/, credential: none } }
        audit: { file: \(path) }

        """
      let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
      let run = try run(words + [Run.binary, "check", file])
      return (run.status, scratch.plain(run.output))
    }
    let start = "DIR/bearerd.yaml:3:16: error: audit file DIR/"
    let missing = try check("none/audit.log")
    #expect(missing.status == 2 && missing.text.contains(start + "none/audit.log: "), "\(missing)")
    try scratch.write("other.log", "something else\n")
    let other = try check("other.log")
    #expect(other.status == 2 && other.text.contains(start + "other.log: "), "\(other)")
    let fine = try check("audit.log")
    #expect(fine.status == 0)
    let text = missing.text + other.text + fine.text
    #expect(text == (try golden("check-audit-file.txt", for: text)))
    #expect(access("\(scratch.path)/audit.log", F_OK) != 0)
  }

  @Test(.enabled(if: getuid() == 0, "other users are for root"))
  func `T58: check does not guess the contents of another user's audit file`() throws {
    let scratch = try Scratch()
    let file = try scratch.write(
      "bearerd.yaml",
      """
      listeners: { main: { address: localhost:7070, allow_users: [0] } }
      services: { api: { upstream: https://api.example.com/, credential: none } }
      audit: { file: \(scratch.path)/theirs/audit.log }

      """, mode: 0o644)
    let theirs = scratch.path + "/theirs"
    #expect(mkdir(theirs, 0o700) == 0)
    for path in [theirs, try scratch.write("theirs/audit.log", "", mode: 0o600)] { chown(path, 998, 998) }
    chmod(scratch.path, 0o755)
    // The user with this number has a name on some machines.
    func plain(_ text: String) -> String { scratch.plain(text).replacing(/[^ ]+ \(uid 998\)/, with: "THEM") }
    let readable = try run([Run.binary, "check", file])
    let text = plain(readable.output)
    #expect(readable.status == 0)
    #expect(text == (try golden("check-audit-file-of-others.txt", for: text)))
    // A user without access to the file gets no details.
    let unprivileged = try run(["setpriv", "--reuid=997", "--regid=997", "--clear-groups", Run.binary, "check", file])
    if unprivileged.status == 0 {
      let text = plain(unprivileged.output)
      #expect(text == (try golden("check-audit-file-not-readable.txt", for: text)))
    } else {
      #expect(!unprivileged.output.contains("audit file"), "\(unprivileged)")
    }
    // If root owns the directory, every user can see that only root can create the file.
    chown(theirs, 0, 0)
    chown(theirs + "/audit.log", 0, 0)
    unlink(theirs + "/audit.log")
    chmod(theirs, 0o755)
    let refused = try run(["setpriv", "--reuid=997", "--regid=997", "--clear-groups", Run.binary, "check", file])
    let refusedText = plain(refused.output)
    #expect(refusedText == (try golden("check-audit-file-of-root.txt", for: refusedText)))
  }

  @Test
  func `paths are relative to the configuration file`() throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    try scratch.write("github.token", "secret\n")
    let run = try Run(
      program: "/bin/sh", ["-c", "cd \"$1\" && exec \"$2\" check ./github.yaml", "sh", scratch.path, Run.binary])
    #expect(run.status == 0)
    #expect(run.output.contains("file \(file.dropLast("github.yaml".count))github.token: exists"), "\(run.output)")
  }

  @Test(arguments: [
    ([:], true), (["NO_COLOR": "1"], false), (["TERM": "dumb"], false),
  ])
  func `check uses colors only on a terminal without NO_COLOR`(environment: [String: String], expected: Bool) throws {
    let scratch = try Scratch()
    let file = try example("github.yaml", in: scratch)
    let run = try Run(
      program: "/usr/bin/script", ["-qec", "\(Run.binary) check \(file)", "/dev/null"],
      environment: ["TERM": "xterm"].merging(environment) { $1 })
    #expect(run.output.contains("fine"))
    #expect(run.output.contains("\u{1B}[") == expected, "\(run.output)")
    #expect(try !Run("check", file).output.contains("\u{1B}"))
  }
}
