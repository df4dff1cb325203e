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
    let errors = scratch.plain(again.errors)
    #expect(again.status == 1)
    #expect(errors == (try golden("add-again.txt", for: errors)))
    #expect(try String(contentsOfFile: "\(scratch.path)/secrets/openai.key", encoding: .utf8) == "sk-1")
    #expect(files == before)
    #expect(try add("--name", "second", key: "sk-2").status == 0)
    try scratch.write(
      "conf.d/mine.yaml", "services: { mine: { upstream: https://a.example/, credential: none } }\n", mode: 0o644)
    let existing = try add("--name", "mine")
    #expect(existing.status == 1 && files.contains("conf.d/mine.yaml 644"), "\(existing.errors)")
    let foreign = try Run("remove", "mine", "--yes", "--config", file)
    let reason = scratch.plain(foreign.errors)
    #expect(foreign.status == 1)
    #expect(reason == (try golden("remove-foreign.txt", for: reason)))
  }

  @Test func `add with an invalid key writes nothing`() throws {
    var text = ""
    for key in ["", "\"sk-1\"", "a\nb", " sk-1", String(repeating: "k", count: 70_000)] {
      let run = try add(key: key)
      #expect(run.status == 2 && files.isEmpty, "\(run)")
      text += run.errors
    }
    #expect(text == (try golden("add-invalid-key.txt", for: text)))
  }

  @Test func `the error for a wrong argument names the right argument`() throws {
    var text = ""
    for arguments in [
      ["add", "opnai"], ["add", "openai"], ["add", "azure-openai", "--key-stdin"], ["add", "openai", "--read-only"],
      ["add", "azure-openai", "--set", "resource=a/b"], ["add", "openai", "--set", "a=b"],
      ["add", "openai", "--name", "a b"], ["remove", "openai"], ["remove", "../x"],
    ] {
      let run = try Run(program: "/usr/bin/setsid", ["--wait", Run.binary] + arguments + ["--config", file])
      #expect(run.status != 0 && files.isEmpty, "\(run)")
      text += transcript(arguments, scratch.plain(run.errors))
    }
    #expect(text == (try golden("add-wrong-arguments.txt", for: text)))
  }

  @Test func `add changes nothing if the configuration has errors or would not include the file`() throws {
    try scratch.write(
      "bearerd.yaml", "listeners: { main: { allow_users: [\(getuid())] } }\nservices: {}\n", mode: 0o644)
    let unread = try add()
    let errors = scratch.plain(unread.errors)
    #expect(unread.status == 2)
    #expect(errors == (try golden("add-not-included.txt", for: errors)))
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
    #expect(eventually { terminal.output.hasSuffix(": ") && !terminal.isOrdinary })
    terminal.type("sk-tyx\u{7F}ped\r")
    #expect(terminal.waitForExit() == 0, "\(terminal.output)")
    #expect(!terminal.output.contains("sk-ty") && terminal.isOrdinary)
    #expect(try String(contentsOfFile: "\(scratch.path)/secrets/openai.key", encoding: .utf8) == "sk-typed")
  }

  @Test func `Ctrl-C at the key prompt restores the terminal and writes no file`() throws {
    let terminal = try PseudoTerminal(
      Run.binary, ["add", "openai", "--no-try", "--config", file], columns: 80, lines: 24)
    #expect(eventually { terminal.output.hasSuffix(": ") && !terminal.isOrdinary })
    let prompt = terminal.output.replacing("\r\n", with: "\n") + "\n"
    #expect(prompt == (try golden("add-prompt.txt", for: prompt)))
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
    #expect(alone.status == 0, "\(alone)")
    let added = files
    let rejected = try add("--set", origin, "--ca-file", authority, key: "bad", preset: "vault")
    #expect(rejected.status == 1 && files == added, "\(rejected)")
    #expect(try Run("remove", "alone", "--yes", "--config", file).status == 0)
    let daemon = try RunningDaemon(configuration: file)
    let before = files
    let wrong = try add("--set", origin, "--ca-file", authority, key: "bad", preset: "vault")
    #expect(wrong.status == 1 && files == before, "\(wrong)")
    let right = try add("--set", origin, "--ca-file", authority, key: "good", preset: "vault")
    #expect(right.status == 0, "\(right)")
    #expect(right.output.contains("export VAULT_ADDR=http://localhost:\(try daemon.port())/vault\n"), "\(right.output)")
    let away = try add("--set", "origin=https://localhost:1", "--name", "away", key: "good", preset: "vault")
    #expect(away.status == 0, "\(away)")
    let results = try [alone, rejected, wrong, right, away].map { run in
      let line = try #require(run.text.split(separator: "\n").first)
      return scratch.plain("\(line)\n", ["localhost:\(server.port)": "localhost:PORT"])
    }.joined()
    #expect(results == (try golden("add-tried.txt", for: results)))
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
    let errors = scratch.plain(run.errors, ["localhost:\(server.port)": "localhost:PORT"])
    #expect(run.status == 1)
    #expect(errors == (try golden("add-rejected-key.txt", for: errors)))
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
    let text = scratch.plain(removed.text)
    #expect(removed.status == 0)
    #expect(text == (try golden("remove-shared-key.txt", for: text)))
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
    #expect(asked.status == 1 && asked.errors.contains(file), "\(asked.errors)")
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
    // Which file is written first depends on the user and on `main`.
    let errors = scratch.plain(run.errors).replacing(/DIR\/[^ ]+/, with: "FILE")
    #expect(run.status == 1)
    #expect(errors == (try golden("add-full-disk.txt", for: errors)))
    #expect(files == before)
  }

  @Test func `an unwritable directory changes nothing`() throws {
    let keyFile = try scratch.write("pasted", "sk-1")
    // Not even root can create files there.
    let run = try Run("add", "openai", "--config", "/sys/bearerd.yaml", "--key-file", keyFile, "--no-try")
    // The system's reason depends on the user and on the mount.
    let errors = run.errors.replacing(/mkdir: [^.]+/, with: "mkdir: REASON")
    #expect(run.status == 1)
    #expect(errors == (try golden("add-unwritable.txt", for: errors)))
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
    #expect(guess.status == 2 && guess.errors.contains("\"openai\""), "\(guess.errors)")
  }
}
