import Foundation
import Presets
import TestServer
import TestSupport
import Testing

/// `bearerctl add`, `remove` and `env`, and that they leave nothing behind after an error.
@Suite struct AddTests {
  private let scratch: Scratch
  private let file: String

  init() throws {
    scratch = try Scratch()
    file = "\(scratch.path)/bearerd.yaml"
  }

  private func add(_ arguments: String..., key: String = "sk-1", preset: String = "openai") throws -> Run {
    let keyFile = try scratch.write("pasted", key)
    // These tests never contact the real providers.
    let noTry = preset == "vault" ? [] : ["--no-try"]
    return try Run(program: Run.binary, ["add", preset, "--config", file, "--key-file", keyFile] + noTry + arguments)
  }

  private var files: [String] {
    (FileManager.default.enumerator(atPath: scratch.path)?.compactMap { $0 as? String } ?? []).filter { $0 != "pasted" }
      .map {
        var status = stat()
        stat("\(scratch.path)/\($0)", &status)
        return "\($0) \(String(status.st_mode & 0o777, radix: 8))"
      }.sorted()
  }

  @Test func `add creates a usable configuration, and remove deletes the service's files`() throws {
    let added = try add(key: "sk-1\n")
    #expect(added.status == 0, "\(added.errors)")
    let made = ["bearerd.yaml 644", "conf.d 755", "conf.d/openai.yaml 644", "secrets 700", "secrets/openai.key 600"]
    #expect(files == made)
    #expect(try String(contentsOfFile: "\(scratch.path)/secrets/openai.key", encoding: .utf8) == "sk-1")
    #expect(added.output.contains("export OPENAI_BASE_URL=http://localhost:7070/openai/v1\n"), "\(added.output)")
    #expect(!added.output.contains("sk-1") && !added.errors.contains("sk-1"))
    #expect(try Run("check", file).status == 0)
    #expect(try Run("explain", "POST", "/openai/v1/responses", "--config", file).status == 0)

    let kept = try Run("remove", "openai", "--config", file)
    #expect(kept.status == 1 && files == made, "\(kept.errors)")
    let removed = try Run("remove", "openai", "--yes", "--config", file)
    #expect(removed.status == 0, "\(removed.errors)")
    #expect(files == ["bearerd.yaml 644", "conf.d 755", "secrets 700"])
  }

  @Test func `add and remove never change existing files`() throws {
    #expect(try add().status == 0)
    let before = files
    let again = try add(key: "sk-2")
    #expect(again.status == 1 && again.errors.contains("openai.yaml already exists"), "\(again.errors)")
    #expect(try String(contentsOfFile: "\(scratch.path)/secrets/openai.key", encoding: .utf8) == "sk-1")
    #expect(files == before)
    #expect(try add("--name", "second", key: "sk-2").status == 0)
    try scratch.write(
      "conf.d/mine.yaml", "services: { mine: { upstream: https://a.example/, credential: none } }\n", mode: 0o644)
    let existing = try add("--name", "mine")
    #expect(existing.status == 1 && files.contains("conf.d/mine.yaml 644"), "\(existing.errors)")
    let foreign = try Run("remove", "mine", "--yes", "--config", file)
    #expect(foreign.status == 1 && foreign.errors.contains("not written by bearerctl add"))
  }

  @Test(arguments: [
    (key: "", reason: "the key is empty"), (key: "\"sk-1\"", reason: "quotation marks"),
    (key: "a\nb", reason: "line break"),
    (key: " sk-1", reason: "a space"), (key: String(repeating: "k", count: 70_000), reason: "too long"),
  ])
  func `add with an invalid key writes nothing`(key: String, reason: String) throws {
    let run = try add(key: key)
    #expect(run.status == 2 && run.errors.contains(reason), "\(run.errors)")
    #expect(files.isEmpty)
  }

  @Test(arguments: [
    (["add", "opnai"], "did you mean \"openai\"?"), (["add", "openai"], "--key-stdin"),
    (["add", "azure-openai", "--key-stdin"], "--set resource="),
    (["add", "openai", "--read-only"], "--read-only is not available"),
    (["add", "azure-openai", "--set", "resource=a/b"], "letters, digits"),
    (["add", "openai", "--set", "a=b"], "asks only for the key"),
    (["add", "openai", "--name", "a b"], "--name \"a b\""),
    (["remove", "openai"], "was not found"), (["remove", "../x"], "was not found"),
  ])
  func `the error for a wrong argument names the right argument`(arguments: [String], reason: String) throws {
    let run = try Run(program: "/usr/bin/setsid", ["--wait", Run.binary] + arguments + ["--config", file])
    #expect(run.status != 0 && run.errors.contains(reason), "\(run.errors)")
    #expect(files.isEmpty)
  }

  @Test func `add changes nothing if the configuration has errors or would not include the file`() throws {
    try scratch.write(
      "bearerd.yaml", "listeners: { main: { allow_users: [\(getuid())] } }\nservices: {}\n", mode: 0o644)
    let unread = try add()
    #expect(unread.status == 2 && unread.errors.contains("include: [conf.d/*.yaml]"), "\(unread.errors)")
    try scratch.write("bearerd.yaml", "include: [conf.d/*.yaml]\nlisteners: {}\n", mode: 0o644)
    #expect(try add().status == 2)
    #expect(files == ["bearerd.yaml 644"])
  }

  @Test func `add --dry-run prints the files and writes nothing`() throws {
    let run = try Run("add", "github", "--read-only", "--dry-run", "--config", file)
    #expect(run.status == 0 && run.output.contains("methods: [GET, HEAD]"), "\(run.output)\(run.errors)")
    #expect(files.isEmpty)
  }

  @Test func `a typed key is not echoed`() throws {
    let terminal = try PseudoTerminal(
      Run.binary, ["add", "openai", "--no-try", "--config", file], columns: 80, lines: 24)
    #expect(eventually { terminal.output.contains("API key (it is not shown): ") && !terminal.isOrdinary })
    terminal.type("sk-tyx\u{7F}ped\r")
    #expect(terminal.waitForExit() == 0, "\(terminal.output)")
    #expect(!terminal.output.contains("sk-ty") && terminal.isOrdinary)
    #expect(try String(contentsOfFile: "\(scratch.path)/secrets/openai.key", encoding: .utf8) == "sk-typed")
  }

  @Test func `Ctrl-C at the key prompt restores the terminal and writes no file`() throws {
    let terminal = try PseudoTerminal(
      Run.binary, ["add", "openai", "--no-try", "--config", file], columns: 80, lines: 24)
    #expect(eventually { terminal.output.contains("API key (it is not shown): ") && !terminal.isOrdinary })
    terminal.type("sk-\u{3}")
    #expect(terminal.waitForExit() == 130)
    #expect(terminal.isOrdinary && files.isEmpty)
  }

  /// Starts a server that accepts the token `good`, and returns it with the file of its certificate authority.
  private func vault() throws -> (UpstreamServer, authority: String) {
    var options = Certificate.Options()
    options.isCA = true
    let root = try Certificate(options)
    (options.isCA, options.dnsNames) = (false, ["localhost"])
    let certificate = try Certificate(options, issuer: root)
    let server = try UpstreamServer(
      chain: [certificate],
      handler: UpstreamServer.httpHandler { request in
        let isGood = String(decoding: request.head, as: UTF8.self).contains("X-Vault-Token: good\r\n")
        return Array("HTTP/1.1 \(isGood ? "200 OK" : "403 Forbidden")\r\nContent-Length: 0\r\n\r\n".utf8)
      })
    return (server, try scratch.write("ca.pem", root.pem, mode: 0o644))
  }

  @Test func `add reloads the daemon, tries the key, and removes the files of a rejected key`() throws {
    let (server, authority) = try vault()
    defer { server.stop() }
    try scratch.write(
      "bearerd.yaml",
      "include: [conf.d/*.yaml]\nlisteners: { main: { address: localhost:0, allow_users: [\(getuid())] } }\ncontrol: c.sock\naudit: { file: a.log }\n",
      mode: 0o644)
    let origin = "origin=https://localhost:\(server.port)"
    // Without a running daemon, add starts a private daemon for the trial.
    let alone = try add("--set", origin, "--ca-file", authority, "--name", "alone", key: "good", preset: "vault")
    #expect(alone.status == 0 && alone.output.contains("200, the key works"), "\(alone.output)\(alone.errors)")
    let added = files
    let rejected = try add("--set", origin, "--ca-file", authority, key: "bad", preset: "vault")
    #expect(rejected.status == 1 && rejected.errors.contains("does not accept this key"), "\(rejected.errors)")
    #expect(files == added)
    #expect(try Run("remove", "alone", "--yes", "--config", file).status == 0)
    let daemon = try RunningDaemon(configuration: file)
    let before = files
    let wrong = try add("--set", origin, "--ca-file", authority, key: "bad", preset: "vault")
    #expect(wrong.status == 1 && wrong.errors.contains("does not accept this key"), "\(wrong.output)\(wrong.errors)")
    #expect(files == before)
    let right = try add("--set", origin, "--ca-file", authority, key: "good", preset: "vault")
    #expect(right.status == 0 && right.output.contains("200, the key works"), "\(right.output)\(right.errors)")
    #expect(right.output.contains("export VAULT_ADDR=http://localhost:\(try daemon.port())/vault\n"), "\(right.output)")
    let away = try add("--set", "origin=https://localhost:1", "--name", "away", key: "good", preset: "vault")
    #expect(away.status == 0 && away.output.contains("bearerctl errors "), "\(away.output)\(away.errors)")
    let removed = try Run("remove", "vault", "--yes", "--config", file)
    #expect(removed.status == 0, "\(removed.errors)")
    #expect(daemon.stop() == 0)
  }

  @Test(arguments: [nil, shipped] as [String?]) func `add with a rejected key leaves no new configuration`(
    main: String?
  )
    throws
  {
    let (server, authority) = try vault()
    defer { server.stop() }
    if let main { try scratch.write("new/bearerd.yaml", main, mode: 0o644) }
    let keyFile = try scratch.write("pasted", "bad")
    let before = files
    let run = try Run(
      "add", "vault", "--config", "\(scratch.path)/new/bearerd.yaml", "--key-file", keyFile, "--ca-file", authority,
      "--set", "origin=https://localhost:\(server.port)")
    #expect(run.status == 1 && run.errors.contains("does not accept this key"), "\(run.errors)")
    #expect(files == before)
  }

  @Test func `simultaneous add commands do not overwrite each other`() throws {
    let (server, authority) = try vault()
    defer { server.stop() }
    let origin = "origin=https://localhost:\(server.port)"
    let names = ["good-1", "bad-2", "good-3", "bad-4"]
    let arguments = try names.map { name in
      let key = try scratch.write("pasted-\(name)", String(name.prefix { $0 != "-" }))
      return [
        "add", "vault", "--config", file, "--name", name, "--set", origin, "--ca-file", authority, "--key-file", key,
      ]
    }
    let outcomes = Guarded<[(name: String, run: Run)]>([])
    DispatchQueue.concurrentPerform(iterations: names.count) { index in
      guard let run = try? Run(program: Run.binary, arguments[index]) else { return }
      outcomes.withLock { $0.append((names[index], run)) }
    }
    #expect(outcomes.withLock(\.count) == names.count)
    for (name, run) in outcomes.withLock({ $0 }) {
      #expect(run.status == (name.hasPrefix("good") ? 0 : 1), "\(name): \(run.output)\(run.errors)")
    }
    #expect(files.filter { $0.hasPrefix("conf.d/") } == ["conf.d/good-1.yaml 644", "conf.d/good-3.yaml 644"])
    #expect(try Run("check", file).status == 0)
  }

  @Test func `remove renames a service file that the user has changed`() throws {
    #expect(try add().status == 0)
    let written = try String(contentsOfFile: "\(scratch.path)/conf.d/openai.yaml", encoding: .utf8)
    let changed = written.replacing("    credential: openai\n", with: "    credential: openai\n    rate: 9/m\n")
    #expect(changed != written)
    try scratch.write("conf.d/openai.yaml", changed, mode: 0o644)
    let removed = try Run("remove", "openai", "--yes", "--config", file)
    #expect(removed.status == 0 && removed.output.contains("openai.yaml.removed"), "\(removed)")
    #expect(try String(contentsOfFile: "\(scratch.path)/conf.d/openai.yaml.removed", encoding: .utf8) == changed)
    #expect(try add().status == 0)
    #expect(try Run("check", file).status == 0)
  }

  @Test func `remove keeps a key or a service that another service uses`() throws {
    #expect(try add().status == 0)
    let other = "credentials: { other: { origins: [https://a.example], bearer: { file: ../secrets/openai.key } } }\n"
    try scratch.write(
      "conf.d/other.yaml", other + "services: { other: { upstream: https://a.example/, credential: other } }\n",
      mode: 0o644)
    try scratch.write(
      "conf.d/needs.yaml", "services: { needs: { upstream: https://api.openai.com/v1/, credential: openai } }\n",
      mode: 0o644)
    let needed = try Run("remove", "openai", "--yes", "--config", file)
    #expect(needed.status == 2 && files.contains("conf.d/openai.yaml 644"), "\(needed.errors)")
    try FileManager.default.removeItem(atPath: "\(scratch.path)/conf.d/needs.yaml")
    let removed = try Run("remove", "openai", "--yes", "--config", file)
    #expect(removed.status == 0 && removed.errors.contains("stays"), "\(removed.errors)")
    #expect(files.contains("secrets/openai.key 600"))
    #expect(!files.contains { $0.contains("removed") || $0.hasPrefix("conf.d/openai") }, "\(files)")
  }

  /// The main file of the package.
  private static let shipped = "include: [conf.d/*.yaml]\n"

  @Test(.enabled(if: getuid() < 1000, "a user's own daemon needs no listener"))
  func `add creates 00-listener.yaml if the main file has no listener`() throws {
    try scratch.write("bearerd.yaml", Self.shipped, mode: 0o644)
    #expect(try Run("check", file).status != 0)
    let added = try add()
    #expect(added.status == 0, "\(added.errors)")
    let expected = ["bearerd.yaml 644", "conf.d 755", "conf.d/00-listener.yaml 644", "conf.d/openai.yaml 644"]
    #expect(files.filter { !$0.hasPrefix("secrets") } == expected)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == Self.shipped)
    #expect(try Run("check", file).status == 0)
    #expect(try add("--name", "second").status == 0)
    #expect(files.filter { $0.hasPrefix("conf.d/") }.count == 3)
    let asked = try Run("init", "--yes", "--config", file)
    #expect(asked.status == 1 && asked.errors.contains("already exists"), "\(asked.errors)")
  }

  @Test(.enabled(if: getuid() < 1000, "a user's own daemon needs no listener"))
  func `init creates 00-listener.yaml if the main file has no listener`() throws {
    try scratch.write("bearerd.yaml", Self.shipped, mode: 0o644)
    let first = try Run("init", "--yes", "--config", file)
    #expect(first.status == 0, "\(first.errors)")
    #expect(files == ["bearerd.yaml 644", "conf.d 755", "conf.d/00-listener.yaml 644", "secrets 700"])
    #expect(try Run("check", file).status == 0)
  }

  @Test(.enabled(if: !isSanitized, "sanitizers write files of their own"), arguments: ["", shipped])
  func `a full disk changes nothing`(main: String) throws {
    if !main.isEmpty { try scratch.write("bearerd.yaml", main, mode: 0o644) }
    let keyFile = try scratch.write("pasted", "sk-1")
    let before = files
    // A file size limit of 0 fails like a full disk.
    let command = ["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", Run.binary]
    let run = try Run(
      program: "/bin/sh", command + ["add", "openai", "--config", file, "--key-file", keyFile, "--no-try"])
    #expect(run.status == 1 && run.errors.contains("cannot be written"), "\(run.errors)")
    #expect(files == before)
  }

  @Test func `an unwritable directory changes nothing`() throws {
    let keyFile = try scratch.write("pasted", "sk-1")
    // Not even root can create files there.
    let run = try Run("add", "openai", "--config", "/sys/bearerd.yaml", "--key-file", keyFile, "--no-try")
    #expect(run.status == 1 && run.errors.contains("/sys/secrets cannot be written"), "\(run.errors)")
  }

  @Test func `env recognizes a preset under another service name`() throws {
    let added = try add("--name", "work", "--set", "server=git.example.com", preset: "gitlab")
    #expect(added.status == 0, "\(added.errors)")
    let run = try Run("env", "work", "--format", "json", "--config", file)
    #expect(!run.output.contains("WORK_BASE_URL"), "\(run.output)")
  }

  @Test func `special characters are quoted for each shell`() {
    let value = "a'b\"c$d\\e f`g"
    let variable = [ServiceVariables.Variable(name: "X", value: value, isKey: false)]
    #expect(VariableFormat.sh.text(variable) == "export X='a'\\''b\"c$d\\e f`g'\n")
    #expect(VariableFormat.fish.text(variable) == "set -gx X 'a\\'b\"c$d\\\\e f`g'\n")
    #expect(VariableFormat.powershell.text(variable) == "$Env:X = 'a''b\"c$d\\e f`g'\n")
    #expect(VariableFormat.dotenv.text(variable) == "X=\"a'b\\\"c\\$d\\\\e f`g\"\n")
    #expect(VariableFormat.docker.text(variable) == "--env X='a'\\''b\"c$d\\e f`g'\n")
  }

  @Test(arguments: [
    ("sh", "export OPENAI_BASE_URL=http://localhost:7070/openai/v1\n"),
    ("fish", "set -gx OPENAI_BASE_URL http://localhost:7070/openai/v1\n"),
    ("powershell", "$Env:OPENAI_BASE_URL = 'http://localhost:7070/openai/v1'\n"),
    ("dotenv", "OPENAI_BASE_URL=http://localhost:7070/openai/v1\n"),
    ("json", "\"OPENAI_BASE_URL\":\"http://localhost:7070/openai/v1\""),
    ("docker", "--env OPENAI_BASE_URL=http://localhost:7070/openai/v1 "),
  ])
  func `env prints the syntax of each shell`(format: String, line: String) throws {
    #expect(try add().status == 0)
    let run = try Run("env", "openai", "--format", format, "--config", file)
    #expect(run.status == 0 && run.output.contains(line), "\(run.output)\(run.errors)")
    let guess = try Run("env", "opnai", "--config", file)
    #expect(guess.status == 2 && guess.errors.contains("did you mean \"openai\"?"))
  }
}
