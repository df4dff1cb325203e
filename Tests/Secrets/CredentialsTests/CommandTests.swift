import Credentials
import Secrets
import Glibc
import Policy
import System
import TestSupport
import Testing

/// Secrets that programs print (T42), without a loop: runs are waited for.
@Suite struct CommandTests {
  let scratch: Scratch
  let secrets = CommandValues()

  init() throws { scratch = try Scratch() }

  /// A command that prints what stands in a file of this name.
  private func command(_ name: String = "output", ttl: UInt64? = 1000) -> SecretCommand {
    SecretCommand(words: ["/bin/cat", "\(scratch.path)/\(name)"], timeToLive: ttl, timeout: 1000)
  }

  private func keyring(_ schemes: AuthScheme..., after previous: Keyring? = nil) throws -> Keyring {
    try Keyring(
      entries: try schemes.enumerated().map { Keyring.Entry(grant: try grant("grant\($0)"), scheme: $1) },
      requireLockedMemory: false, commands: secrets, after: previous)
  }

  /// One run to its end, and its output taken. False: unusable.
  private func run(_ command: SecretCommand, for keyring: Keyring) throws -> Bool {
    let process = try CheckedCommand(command).run(secrets.request(.get, of: command), mustLock: false)
    wait(for: process.output)
    while try process.readOutput() == .more { wait(for: process.output) }
    wait(for: process.exit)
    try #require(process.end() == .status(0))
    let isTaken = secrets.take(command, from: process, for: keyring)
    _ = keyring.reload(command: command)
    return isTaken
  }

  private func wait(for descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&entry, 1, 30_000) > 0, "waited in vain")
  }

  /// What stands behind `Authorization: `, for the grant.
  private func written(_ keyring: Keyring, _ index: Int = 0) throws -> String? {
    let upstream = try Upstream()
    do {
      var session = try upstream.session(grant: "grant\(index)")
      do throws(AuthorizationError) {
        try keyring.authorize(grant: index, head: Array("GET / HTTP/1.1\r\n".utf8), over: &session)
      } catch {
        return nil
      }
    }
    return upstream.finish()[0].split(separator: "\r\n").last.map { String($0.split(separator: " ").last ?? "") }
  }

  @Test func `T40: before the first run has ended there is nothing, and it is awaited`() throws {
    let keyring = try keyring(.bearer(.command(command())))
    #expect(keyring.commands == [command()])
    #expect(keyring.isAwaited(grant: 0) && !keyring.isAvailable(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem == "/bin/cat is still running")
    #expect(try written(keyring) == nil)
  }

  @Test func `what it prints goes into the credential, and counts up when it is another`() throws {
    let keyring = try keyring(.bearer(.command(command())))
    for (output, token, generation) in [
      ("one\n", "one", 1), ("one", "one", 1), ("two\r\n", "two", 2), ("three", "three", 3),
    ] {
      try scratch.write("output", output)
      #expect(try run(command(), for: keyring))
      #expect(keyring.status(ofGrant: 0) == Keyring.Status(generation: UInt64(generation), problem: nil))
      #expect(try written(keyring) == token)
    }
    #expect(!keyring.isAwaited(grant: 0))
  }

  @Test(arguments: [
    "", "\n", "\r\n", "s3cret\n\n", "s3cret\nX-Evil: 1", "s3cret\rX", "s3cret\r\nX", "s3cret\u{0}", "\u{FEFF}s3cret",
    "s3 cret", "s3cret\u{7F}", "s3cretü", "\ts3cret", "s3cret\u{1B}[31m",
  ])
  func `T43: what cannot stand in a field is not taken, nor said; the value before stays`(_ output: String) throws {
    let keyring = try keyring(.bearer(.command(command())))
    try scratch.write("output", output)
    #expect(try !run(command(), for: keyring))
    #expect(try written(keyring) == nil)
    try scratch.write("output", "good")
    #expect(try run(command(), for: keyring))
    try scratch.write("output", output)
    #expect(try !run(command(), for: keyring))
    let problem = try #require(keyring.status(ofGrant: 0).problem)
    #expect(problem.contains("the output of /bin/cat") && problem.contains("still in use"))
    #expect(!problem.contains("s3") && !problem.contains(scratch.path), "\(problem)")
    #expect(try written(keyring) == "good")
  }

  @Test func `each place has its own rules, and all of them count`() throws {
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
    #expect(try written(keyring, 0) == "SsO8cmdlbjp3b3Jk")
    #expect(try written(keyring, 1) == "word")
  }

  @Test func `T40: a failure leaves the value until its time is over`() throws {
    let keyring = try keyring(.bearer(.command(command())))
    secrets.fail(command(), "/bin/cat ended with status 1")
    _ = keyring.reload(command: command())
    #expect(!keyring.isAwaited(grant: 0), "it has ended")
    #expect(keyring.status(ofGrant: 0).problem == "/bin/cat ended with status 1")
    try scratch.write("output", "one")
    #expect(try run(command(), for: keyring))
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(generation: 1, problem: nil))
    secrets.fail(command(), "/bin/cat ended with status 1")
    #expect(keyring.reload(command: command()) == [0])
    #expect(
      keyring.status(ofGrant: 0)
        == Keyring.Status(
          generation: 1, problem: "/bin/cat ended with status 1 (the previous value is still in use)"))
    #expect(try written(keyring) == "one")
    secrets.expire(command())
    _ = keyring.reload(command: command())
    #expect(keyring.status(ofGrant: 0).problem == "/bin/cat ended with status 1")
    #expect(!keyring.isAvailable(grant: 0))
    #expect(try written(keyring) == nil)
    #expect(try run(command(), for: keyring))
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(generation: 2, problem: nil))
  }

  @Test func `lines with a value whose time is over do not outlive it, whatever is wrong with their other sources`()
    throws
  {
    let file = try scratch.write("password", "first")
    try scratch.write("output", "me")
    let keyring = try keyring(.basic(user: .secret(.command(command())), password: .secret(.file(file))))
    #expect(try run(command(), for: keyring))
    #expect(try written(keyring) == "bWU6Zmlyc3Q=")
    try scratch.write("password", "not\nusable")
    _ = keyring.reload(directories: [scratch.path])
    #expect(try run(command(), for: keyring), "the output itself is fine")
    #expect(try written(keyring) == nil)
  }

  @Test func `equal commands are one, for credentials and for later configurations`() throws {
    try scratch.write("output", "one")
    let first = try keyring(.bearer(.command(command())), .bearer(.command(command())))
    #expect(first.commands.count == 1)
    #expect(try run(command(), for: first))
    #expect(try written(first, 0) == "one" && written(first, 1) == "one")
    let second = try keyring(.bearer(.command(command())), .bearer(.command(command(ttl: nil))), after: first)
    #expect(second.commands.count == 2)
    #expect(second.isAvailable(grant: 0), "without another run")
    #expect(second.isAwaited(grant: 1), "another time to live is another command")
    #expect(second.generation(ofGrant: 0) == 1)
    secrets.forget(command())
    #expect(second.reload(command: command()) == [0])
    #expect(try written(second) == nil)
  }

  @Test func `a program that others could have changed is not run`() throws {
    let path = try scratch.write("helper", "#!/bin/sh\ntouch \(scratch.path)/ran\n", mode: 0o777)
    let command = SecretCommand(words: [path], timeToLive: nil, timeout: 1000)
    let failure = #expect(throws: CommandFailure.self) { _ = try CheckedCommand(command) }
    #expect(failure?.sentence.contains("chmod go-w") == true)
    #expect(access("\(scratch.path)/ran", F_OK) != 0)
  }

  /// A run that prints what a git helper would, for `get`.
  private func gitCommand(_ name: String = "git") -> SecretCommand {
    let description = GitDescription(host: "git.example.com", path: nil, user: nil, takesToken: false)
    return SecretCommand(
      words: ["/bin/sh", "-c", "cat \(scratch.path)/\(name)", "sh"],
      format: .gitCredential(description, stores: false), timeToLive: nil, timeout: 1000)
  }

  @Test func `one run gives user and password, and each place has its rules`() throws {
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
    #expect(try written(keyring) == "bWU6d29yZA==")
    let number = secrets.number(of: command)
    try scratch.write("git", "username=you\npassword=word\n")
    #expect(try run(command, for: keyring))
    #expect(number > 0 && secrets.number(of: command) > number)
  }

  @Test func `T42: a rejected value is waited for, and known when it comes again`() throws {
    let command = gitCommand()
    let keyring = try keyring(.bearer(.command(command)))
    try scratch.write("git", "password=word\n")
    #expect(try run(command, for: keyring))
    let number = secrets.number(of: command)
    #expect(keyring.helperValues(ofGrant: 0).map(\.number) == [number])
    secrets.await(command)
    _ = keyring.reload(command: command)
    #expect(keyring.isAwaited(grant: 0))
    #expect(try written(keyring) == nil)
    #expect(try run(command, for: keyring))
    #expect(try written(keyring) == "word")
    #expect(secrets.number(of: command) == number)
    secrets.await(command)
    secrets.fail(command, "/bin/sh ended with status 1")
    _ = keyring.reload(command: command)
    #expect(!keyring.isAwaited(grant: 0) && !keyring.isAvailable(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem == "/bin/sh ended with status 1")
    #expect(try run(command, for: keyring))
    #expect(try written(keyring) == "word")
    #expect(secrets.number(of: command) == number, "the same value still")
  }

  @Test func `docker's identity token is no password`() throws {
    let command = SecretCommand(
      words: ["/bin/sh", "-c", "cat \(scratch.path)/docker", "sh"], format: .dockerCredential(server: "r.example.com"),
      timeToLive: nil, timeout: 1000)
    try scratch.write("docker", #"{"Username":"<token>","Secret":"word"}"#)
    let token = try keyring(.bearer(.command(command)))
    #expect(try run(command, for: token))
    let password = try keyring(.basic(user: .plain("me"), password: .secret(.command(command))))
    #expect(try !run(command, for: password))
    #expect(password.status(ofGrant: 0).problem?.contains("identity token") == true)
  }

  @Test func `ends are told without arguments and without output`() {
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
