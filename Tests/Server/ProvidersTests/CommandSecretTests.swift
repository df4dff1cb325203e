import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A program prints the secret. bearerd uses only its standard output, and serves other requests meanwhile (T42).
@Suite(.inProcess) struct CommandSecretTests {
  private let commands: CommandStage
  private var stage: Stage { commands.stage }
  private var path: String { commands.path }

  init() throws { commands = try CommandStage() }

  /// Whether the processes whose ids are in the file have ended.
  private func areGone(_ name: String) -> Bool {
    let pids = commands.notes(name).split { $0 == " " || $0 == "\n" }
    return !pids.isEmpty && pids.allSatisfy { isGone($0) }
  }

  private func isGone(_ pid: Substring) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
    // A zombie of another parent counts as ended, because this process cannot reap this process.
    return status.contains(") Z ") && !status.contains(") Z \(getpid()) ")
  }

  @Test func `T42: a program commands.runs again before its value expires, and the next request uses the new value`()
    throws
  {
    try stage.start(commands.configuration("echo TOKEN-$(wc -l < HERE/runs)-secret", options: ", ttl: 2s"))
    let client = try stage.client()
    let port = try stage.daemon!.port()
    for generation in 1...3 {
      #expect(stage.waitForSecret(version: generation))
      try client.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      #expect(try client.response().status == 200)
    }
    let tokens = stage.recorded.components(separatedBy: "Authorization: Bearer TOKEN-").dropFirst()
    let numbers = tokens.compactMap { Int($0.prefix { $0.isNumber }) }
    try #require(numbers.count == 3)
    #expect(numbers.sorted() == numbers && numbers[2] >= 3, "\(numbers)")
    #expect(stage.upstream.records.count == 1, "nor does the upstream's connection end")
    #expect(eventually { commands.runs.dropLast().allSatisfy(isGone) }, "no zombies")
    for number in numbers { stage.assertCanary(times: 1, secret: "TOKEN-\(number)-secret") }
  }

  @Test func `T42: two credentials with the same command share one run`() throws {
    let one = try commands.configuration("cat HERE/canary.token")
    try stage.start(one.replacing("{ file: second.token }", with: "{ command: [\(path)/helper] }"))
    #expect(try stage.get().status == 200)
    #expect(try stage.get("/other/x").status == 200)
    #expect(commands.runs.count == 1)
    stage.assertCanary(times: 2)
  }

  // MARK: failures

  @Test func `T42: a failure is logged without the program's output, and the program commands.runs again`() throws {
    try stage.start(
      commands.configuration(
        "test -e HERE/broken && { cat HERE/canary.token HERE/canary.token >&2; exit 3; }; cat HERE/canary.token",
        options: ", ttl: 2s"))
    #expect(try stage.get().status == 200)
    try stage.scratch.write("broken", "")
    let bytes = 2 * (stage.canary.utf8.count + 1)
    let fields: [String: LoggedField] = [
      "credential": "canary", "credential_generation": 1, "detail": .naming("\(path)/helper", "status 3", "\(bytes) "),
    ]
    #expect(stage.log.wait(for: .credentialUnusable, fields))
    #expect(stage.log.wait(for: .credentialUnavailable, fields))
    let response = try stage.get()
    #expect(response.status == 503 && response.text.contains("credential-unavailable"))
    #expect(!response.text.contains("helper"), "a caller learns nothing of it")
    #expect(unlink("\(path)/broken") == 0)
    #expect(stage.waitForSecret(version: 2))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T42 T55: a program that hangs is killed with its children, and delays no other request`()
    throws
  {
    try stage.start(
      commands.configuration(
        "sleep 1000 & echo $! $$ >> HERE/hung; cat HERE/canary.token; wait", options: ", timeout: 1s"))
    #expect(stage.log.wait(for: .credentialUnavailable, ["credential": "canary", "detail": .naming("helper", "1 s")]))
    #expect(eventually { areGone("hung") })
    #expect(try stage.get("/other/x").status == 200)
    #expect(try stage.get().status == 503)
    #expect(stage.recorded.components(separatedBy: "GET /").count == 2)
    stage.assertCanary(times: 0)
  }

  // MARK: requests while the program commands.runs

  /// A configuration whose program prints the canary when `release` is called.
  private func blocked() throws -> String {
    #expect(mkfifo("\(path)/gate", 0o600) == 0)
    return try commands.configuration("read line < HERE/gate; cat HERE/canary.token", options: ", timeout: 1m")
  }

  private func release() throws {
    let gate = open("\(path)/gate", O_WRONLY | O_CLOEXEC)
    #expect(gate >= 0 && write(gate, "go\n", 3) == 3)
    close(gate)
  }

  /// Sends a request that needs the program's output.
  private func sendRequest() throws -> LocalClient {
    let client = try stage.client()
    try client.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(stage.daemon!.port())\r\n\r\n")
    return client
  }

  @Test func `T42: only requests that need the program's output wait for the first value`() throws {
    try stage.start()
    try stage.reload(blocked())
    let (first, second) = (try sendRequest(), try sendRequest())
    #expect(try stage.get("/other/x").status == 200)
    try release()
    #expect(try first.response().status == 200)
    #expect(try second.response().status == 200)
    #expect(commands.runs.count == 1)
    stage.assertCanary(times: 2)
  }

  @Test func `T42 T55: the daemon is ready while a program still commands.runs, and serves other requests`() throws {
    try stage.start(blocked())
    let client = try sendRequest()
    #expect(try stage.get("/other/x").status == 200)
    try release()
    #expect(try client.response().status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T42: a reload decides again about waiting requests, and kills a program that is no longer needed`() throws
  {
    try stage.start()
    try stage.reload(blocked())
    let client = try sendRequest()
    #expect(try stage.get("/other/x").status == 200)
    try #require(eventually { commands.runs.count == 1 })
    #expect(!isGone(commands.runs[0]))
    try stage.reload(stage.configuration())
    #expect(try client.response().status == 200)
    #expect(eventually { isGone(commands.runs[0]) })
    stage.assertCanary(times: 1)
  }

  @Test func `T42: a stop refuses a waiting request and kills the program`() throws {
    try stage.start()
    try stage.reload(blocked())
    let client = try sendRequest()
    #expect(try stage.get("/other/x").status == 200)
    try #require(eventually { commands.runs.count == 1 })
    stage.daemon!.beginStop()
    #expect(try client.response().status == 503)
    #expect(stage.daemon!.waitForExit() == 0)
    #expect(eventually { isGone(commands.runs[0]) })
    stage.assertCanary(times: 0)
  }

  @Test func `T42: background processes of a program are killed when the program exits`() throws {
    try stage.start(commands.configuration("sleep 1000 & echo $! >> HERE/left; cat HERE/canary.token"))
    #expect(try stage.get().status == 200)
    #expect(eventually { areGone("left") })
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [
    ("head -c 10000000 /dev/zero | tr '\\0' x", "64 KiB"),
    ("yes $(cat HERE/canary.token)", "64 KiB"),
    ("yes $(cat HERE/canary.token) >&2", "1 MiB"),
    ("printf 'CANARY-x\\r\\nX-Evil: 1\\r\\n'", "helper"), ("printf 'CANARY-x\\nX-Evil: 1\\n'", "helper"),
    ("printf 'CANARY-x\\rX-Evil: 1'", "helper"), ("printf 'CANARY-x\\000y'", "helper"),
    ("printf 'CANARY x'", "helper"), ("true", "helper"), ("cat HERE/canary.token; kill -KILL $$", "signal 9"),
    ("cat HERE/canary.token; exec HERE/missing", "status 127"), ("exec HERE", "status 126"),
  ])
  func `T42: output that is not a valid secret, or of a failed program, is not used`(_ script: String, _ named: String)
    throws
  {
    try stage.start(commands.configuration(script, options: ", timeout: 30s"))
    #expect(stage.log.wait(for: .credentialUnavailable, ["credential": "canary", "detail": .naming("helper", named)]))
    #expect(try stage.get().status == 503)
    #expect(stage.upstream.records.isEmpty)
    #expect(stage.log.hides("CANARY"))
    #expect(eventually { commands.runs.allSatisfy(isGone) })
    stage.assertCanary(times: 0)
  }

  // MARK: permissions of the program

  @Test func `T42: a missing program, or a program that others can write, is a configuration error`() throws {
    for (mode, reason) in [(0o777, "chmod go-w"), (0o770, "chmod go-w"), (0o600, "chmod +x")] as [(mode_t, String)] {
      let text = try commands.configuration("cat HERE/canary.token")
      chmod("\(path)/helper", mode)
      let result = try stage.fail(text)
      #expect(result.status == 2 && result.errors.contains("\(reason) \(path)/helper"), "\(result.errors)")
    }
    let result = try stage.fail(commands.configuration(command: ["\(path)/missing"].joined(separator: ", ")))
    #expect(result.status == 2 && result.errors.contains("program \(path)/missing not found"))
    #expect(commands.runs.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T42: a program does not run again after others can write it`() throws {
    try stage.start(commands.configuration("cat HERE/canary.token", options: ", ttl: 2s"))
    #expect(try stage.get().status == 200)
    chmod("\(path)/helper", 0o722)
    #expect(stage.log.wait(for: .credentialUnavailable, ["credential": "canary", "detail": .naming("\(path)/helper")]))
    let before = commands.runs.count
    #expect(try stage.get().status == 503)
    chmod("\(path)/helper", 0o700)
    #expect(stage.waitForSecret(version: 2))
    #expect(commands.runs.count == before + 1)
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  // MARK: reload, shutdown and memory

  @Test func `T42: a reload does not run an unchanged command again`() throws {
    let text = try commands.configuration("cat HERE/canary.token", options: ", ttl: 1h")
    try stage.start(text)
    for round in 1...3 {
      try stage.reload(text + "\n# \(round)")
      #expect(try stage.get().status == 200)
    }
    #expect(commands.runs.count == 1)
    #expect(!stage.log.contains(.request, ["credential_generation": 2]))
    try stage.reload(text.replacing("ttl: 1h", with: "ttl: 2h"))
    #expect(eventually { commands.runs.count == 2 })
    #expect(try eventually { try stage.get().status == 200 })
    stage.assertCanary(times: 4)
  }

  @Test func `T42: a stop kills a running program with its children`() throws {
    try stage.start(
      commands.configuration(
        "cat HERE/canary.token; test $(wc -l < HERE/runs) = 1 && exit; sleep 1000 & echo $! $$ > HERE/new; mv HERE/new HERE/hung; wait",
        options: ", ttl: 2s, timeout: 1m"))
    #expect(eventually { !commands.notes("hung").isEmpty })
    #expect(!areGone("hung"))
    #expect(stage.daemon!.stop() == 0)
    #expect(eventually { areGone("hung") })
    stage.assertCanary(times: 0)
  }
}
