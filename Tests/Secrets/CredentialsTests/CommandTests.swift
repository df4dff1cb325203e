import HTTP1
@testable import Credentials
import Secrets
import Glibc
import Policy
import Settings
import System
import TestSupport
import Testing

/// Secrets that programs print (T42). The tests run programs without an event loop.
@Suite struct CommandTests {
  let scratch: Scratch
  let secrets = CommandValues()

  init() throws { scratch = try Scratch() }

  /// A command that prints the contents of a file.
  private func command(_ name: String = "output", ttl: UInt64? = 1000) -> SecretCommand {
    SecretCommand(words: ["/bin/cat", "\(scratch.path)/\(name)"], timeToLive: ttl, timeout: 1000)
  }

  private func keyring(_ schemes: AuthScheme..., after previous: Keyring? = nil) throws -> Keyring {
    try Keyring(
      entries: try schemes.enumerated().map { Keyring.Entry(grant: try grant("grant\($0)"), scheme: $1) },
      requireLockedMemory: false, commands: secrets, after: previous)
  }

  /// Runs a command to its end and stores its output. Returns `false` if the output is unusable.
  private func run(_ command: SecretCommand, for keyring: Keyring) throws -> Bool {
    let process = try CheckedCommand(command).run(secrets.request(.get, of: command), mustLock: false)
    wait(for: process.output)
    while try process.readOutput() == .more { wait(for: process.output) }
    wait(for: process.exit)
    try #require(process.termination() == .status(0))
    let isStored = secrets.store(command, from: process, for: keyring)
    _ = keyring.reload(command: command)
    return isStored
  }

  private func wait(for descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&entry, 1, 30_000) > 0, "no event within 30 seconds")
  }

  /// The credential that a grant sends after the scheme. `nil` if nothing is sent.
  private func sentValue(_ keyring: Keyring, _ index: Int = 0) throws -> String? {
    let upstream = try Upstream()
    do {
      var session = try upstream.session(grant: "grant\(index)")
      do throws(AuthorizationError) {
        try keyring.authorize(grant: index, request: OutgoingRequest("GET / HTTP/1.1"), over: &session)
      } catch {
        return nil
      }
    }
    return upstream.finish()[0].split(separator: "\r\n").last.map { String($0.split(separator: " ").last ?? "") }
  }

  @Test func `T40: before its command has run, a credential is pending and has no value`() throws {
    let keyring = try keyring(.bearer(.command(command())))
    #expect(keyring.commands == [command()])
    #expect(keyring.isCommandPending(grant: 0) && !keyring.isAvailable(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem == "/bin/cat is still running")
    #expect(try sentValue(keyring) == nil)
  }

  @Test func `a command's output is sent, and different output gets a new version`() throws {
    let keyring = try keyring(.bearer(.command(command())))
    for (output, token, generation) in [
      ("one\n", "one", 1), ("one", "one", 1), ("two\r\n", "two", 2), ("three", "three", 3),
    ] {
      try scratch.write("output", output)
      #expect(try run(command(), for: keyring))
      #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: UInt64(generation), problem: nil))
      #expect(try sentValue(keyring) == token)
    }
    #expect(!keyring.isCommandPending(grant: 0))
  }

  @Test(arguments: [
    "", "\n", "\r\n", "s3cret\n\n", "s3cret\nX-Evil: 1", "s3cret\rX", "s3cret\r\nX", "s3cret\u{0}", "\u{FEFF}s3cret",
    "s3 cret", "s3cret\u{7F}", "s3cretü", "\ts3cret", "s3cret\u{1B}[31m",
  ])
  func `T43: output that a field cannot carry is refused and not shown, and the old value stays`(_ output: String)
    throws
  {
    let keyring = try keyring(.bearer(.command(command())))
    try scratch.write("output", output)
    #expect(try !run(command(), for: keyring))
    #expect(try sentValue(keyring) == nil)
    try scratch.write("output", "good")
    #expect(try run(command(), for: keyring))
    try scratch.write("output", output)
    #expect(try !run(command(), for: keyring))
    let problem = try #require(keyring.status(ofGrant: 0).problem)
    #expect(problem.contains("/bin/cat"))
    #expect(!problem.contains("s3") && !problem.contains(scratch.path), "\(problem)")
    #expect(try sentValue(keyring) == "good")
  }

  @Test func `output must satisfy the rules of every field that contains it`() throws {
    let user = command("user")
    let password = command("password")
    let keyring = try keyring(
      .basic(user: .secret(.command(user)), password: .secret(.command(password))),
      .headers([HeaderTemplate(name: "X-Key", prefix: "", value: .secret(.command(password)))]))
    for (output, isFit) in [("me:you", false), ("me\nyou", false), ("Jürgen", true)] {
      try scratch.write("user", output)
      #expect(try run(user, for: keyring) == isFit, "\(output)")
    }
    for (output, isFit) in [("pass:wörd", false), (" word", false), ("pass word", true), ("word", true)] {
      try scratch.write("password", output)
      #expect(try run(password, for: keyring) == isFit, "\(output)")
    }
    #expect(try sentValue(keyring, 0) == "SsO8cmdlbjp3b3Jk")
    #expect(try sentValue(keyring, 1) == "word")
  }

  @Test func `T40: after a failed run, the old value stays in use until it expires`() throws {
    let keyring = try keyring(.bearer(.command(command())))
    secrets.fail(command(), "/bin/cat ended with status 1")
    _ = keyring.reload(command: command())
    #expect(!keyring.isCommandPending(grant: 0), "the command has ended")
    #expect(keyring.status(ofGrant: 0).problem == "/bin/cat ended with status 1")
    try scratch.write("output", "one")
    #expect(try run(command(), for: keyring))
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 1, problem: nil))
    secrets.fail(command(), "/bin/cat ended with status 1")
    #expect(keyring.reload(command: command()) == [0])
    #expect(
      keyring.status(ofGrant: 0)
        == Keyring.Status(
          secretVersion: 1, problem: "/bin/cat ended with status 1 (the previous value is still in use)"))
    #expect(try sentValue(keyring) == "one")
    secrets.expire(command())
    _ = keyring.reload(command: command())
    #expect(keyring.status(ofGrant: 0).problem == "/bin/cat ended with status 1")
    #expect(!keyring.isAvailable(grant: 0))
    #expect(try sentValue(keyring) == nil)
    #expect(try run(command(), for: keyring))
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 2, problem: nil))
  }

  @Test func `a credential with a value that can expire is not kept when another source is unusable`()
    throws
  {
    let file = try scratch.write("password", "first")
    try scratch.write("output", "me")
    let keyring = try keyring(.basic(user: .secret(.command(command())), password: .secret(.file(file))))
    #expect(try run(command(), for: keyring))
    #expect(try sentValue(keyring) == "bWU6Zmlyc3Q=")
    try scratch.write("password", "not\nusable")
    _ = keyring.reload(directories: [scratch.path])
    #expect(try run(command(), for: keyring), "the output itself is fine")
    #expect(try sentValue(keyring) == nil)
  }

  @Test func `equal commands run once, also for later configurations`() throws {
    try scratch.write("output", "one")
    let first = try keyring(.bearer(.command(command())), .bearer(.command(command())))
    #expect(first.commands.count == 1)
    #expect(try run(command(), for: first))
    #expect(try sentValue(first, 0) == "one" && sentValue(first, 1) == "one")
    let second = try keyring(.bearer(.command(command())), .bearer(.command(command(ttl: nil))), after: first)
    #expect(second.commands.count == 2)
    #expect(second.isAvailable(grant: 0), "no further run is needed")
    #expect(second.isCommandPending(grant: 1), "another time to live is another command")
    #expect(second.secretVersion(ofGrant: 0) == 1)
    secrets.forget(command())
    #expect(second.reload(command: command()) == [0])
    #expect(try sentValue(second) == nil)
  }

  @Test func `a program that others can change is not run`() throws {
    let path = try scratch.write("helper", "#!/bin/sh\ntouch \(scratch.path)/ran\n", mode: 0o777)
    let command = SecretCommand(words: [path], timeToLive: nil, timeout: 1000)
    let failure = #expect(throws: CommandFailure.self) { _ = try CheckedCommand(command) }
    #expect(failure?.sentence.contains("chmod go-w") == true)
    #expect(access("\(scratch.path)/ran", F_OK) != 0)
  }

  @Test func `a program without its variables is not run, and another environment is another command`() throws {
    func command(_ names: Set<String>) -> SecretCommand {
      SecretCommand(words: ["/bin/cat"], timeToLive: nil, timeout: 1000, passedVariables: names)
    }
    setenv("PASSED_TO_COMMAND", "xyzzy", 1)
    let checked = try CheckedCommand(command(["PASSED_TO_COMMAND", "ABSENT_FOR_COMMAND"]))
    let failure = #expect(throws: CommandFailure.self) {
      _ = try checked.run(secrets.request(.get, of: checked.command), mustLock: false)
    }
    #expect(failure?.sentence.contains("ABSENT_FOR_COMMAND is not set") == true)
    #expect(failure?.sentence.contains("xyzzy") == false)
    #expect(command(["A", "B"]) == command(["B", "A"]))
    #expect(command(["A"]) != command([]))
    let process = try CheckedCommand(command(["PASSED_TO_COMMAND"])).run(
      secrets.request(.get, of: command(["PASSED_TO_COMMAND"])), mustLock: false)
    wait(for: process.exit)
    #expect(process.termination() == .status(0))
  }

  /// A command that prints the output of a git helper for `get`.
  private func gitCommand(_ name: String = "git") -> SecretCommand {
    let description = GitDescription(host: "git.example.com", path: nil, user: nil, acceptsToken: false)
    return SecretCommand(
      words: ["/bin/sh", "-c", "cat \(scratch.path)/\(name)", "sh"],
      format: .gitCredential(description, stores: false), timeToLive: nil, timeout: 1000)
  }

  @Test func `one run gives user and password, and each is checked by its own rules`() throws {
    let command = gitCommand()
    let keyring = try keyring(.basic(user: .secret(.userOfCommand(command)), password: .secret(.command(command))))
    #expect(keyring.commands.count == 1)
    for (output, isFit) in [
      ("password=word\n", false), ("username=m:e\npassword=word\n", false), ("username=me\npassword=wo\u{7F}\n", false),
      ("username=me\npassword=word\n", true),
    ] {
      try scratch.write("git", output)
      #expect(try run(command, for: keyring) == isFit, "\(output)")
    }
    #expect(try sentValue(keyring) == "bWU6d29yZA==")
    let number = secrets.version(of: command)
    try scratch.write("git", "username=you\npassword=word\n")
    #expect(try run(command, for: keyring))
    #expect(number > 0 && secrets.version(of: command) > number)
  }

  @Test func `T42: a rejected value waits for the next run, and an unchanged value keeps its version`() throws {
    let command = gitCommand()
    let keyring = try keyring(.bearer(.command(command)))
    try scratch.write("git", "password=word\n")
    #expect(try run(command, for: keyring))
    let number = secrets.version(of: command)
    #expect(keyring.helperValues(ofGrant: 0).map(\.version) == [number])
    secrets.recordRejection(command)
    _ = keyring.reload(command: command)
    #expect(keyring.isCommandPending(grant: 0))
    #expect(try sentValue(keyring) == nil)
    #expect(try run(command, for: keyring))
    #expect(try sentValue(keyring) == "word")
    #expect(secrets.version(of: command) == number)
    secrets.recordRejection(command)
    secrets.fail(command, "/bin/sh ended with status 1")
    _ = keyring.reload(command: command)
    #expect(!keyring.isCommandPending(grant: 0) && !keyring.isAvailable(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem == "/bin/sh ended with status 1")
    #expect(try run(command, for: keyring))
    #expect(try sentValue(keyring) == "word")
    #expect(secrets.version(of: command) == number, "the same value still")
  }

  @Test func `docker's identity token is not used as a password`() throws {
    let command = SecretCommand(
      words: ["/bin/sh", "-c", "cat \(scratch.path)/docker", "sh"], format: .dockerCredential(server: "r.example.com"),
      timeToLive: nil, timeout: 1000)
    try scratch.write("docker", #"{"Username":"<token>","Secret":"word"}"#)
    let token = try keyring(.bearer(.command(command)))
    #expect(try run(command, for: token))
    let password = try keyring(.basic(user: .plain("me"), password: .secret(.command(command))))
    #expect(try !run(command, for: password))
    #expect(password.status(ofGrant: 0).problem != nil)
  }

  @Test func `a failed command is reported without its arguments and its output`() {
    let command = SecretCommand(words: ["/bin/get", "s3cret"], timeToLive: nil, timeout: 1500)
    #expect(command.failure(.status(0), errorCount: 100) == nil)
    #expect(command.failure(.status(1), errorCount: 0) == "/bin/get ended with status 1")
    #expect(
      command.failure(.status(1), errorCount: 7)
        == "/bin/get ended with status 1, and wrote 7 bytes to its standard error, which are not shown")
    #expect(command.failure(.signal(9), errorCount: 0) == "/bin/get was ended by signal 9")
    #expect(command.failure(.status(127), errorCount: 0)?.contains("cannot be started") == true)
    #expect(command.tooSlow == "/bin/get did not finish within 1500 ms, and was killed")
  }
}
