import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A program prints the secret. bearerd passes no descriptors or variables to the program, uses only its standard
/// output, and keeps this output in locked memory (T42).
@Suite(.waits) struct CommandSecretTests {
  private let commands: CommandStage
  private var stage: Stage { commands.stage }
  private var path: String { commands.path }

  init() throws { commands = try CommandStage() }

  @Test(arguments: [[], ["/usr/bin/env", "--ignore-signal=CHLD"]])
  func `T42: a program inherits no descriptor, variable or terminal, and no shell reads its arguments`(
    wrapper: [String]
  ) throws {
    // The program also runs if the daemon inherits an ignored SIGCHLD.
    try stage.start(
      commands.configuration(
        """
        printf '%s|' "$@" > HERE/words
        tr '\\0' '\\n' < /proc/$$/environ > HERE/environ
        ls -l /proc/self/fd > HERE/descriptors
        cut -d' ' -f5,6,7 /proc/$$/stat > HERE/session
        cat > HERE/input
        cat HERE/canary.token
        """, arguments: ", \"a b\", \"$(id)\", \"*\", \"\", \"`id`\", \"';x\"", options: ", timeout: 5s"),
      environment: ["TEST_VARIABLE": "inherited"], wrapper: wrapper)
    #expect(try stage.get().status == 200)
    let variables = commands.notes("environ").split(separator: "\n").map { String($0.prefix { $0 != "=" }) }
    #expect(variables.sorted() == ["HOME", "LANG", "PATH"])
    let links = commands.notes("descriptors").split(separator: "\n").dropFirst().map {
      String($0.split(separator: " ").last!)
    }
    try #require(links.count == 4, "its own three, and the one of the listing: \(links)")
    #expect(links.first == "/dev/null" && links[1] == "\(path)/descriptors" && links[2].hasPrefix("pipe:"), "\(links)")
    let pid = commands.notes("runs").dropLast()
    #expect(commands.notes("session") == "\(pid) \(pid) 0\n")
    #expect(FileManager.default.fileExists(atPath: "\(path)/input") && commands.notes("input").isEmpty)
    #expect(commands.notes("words") == "a b|$(id)|*||`id`|';x|")
    stage.assertCanary(times: 1)
  }

  @Test func `T42: neither ended programs nor disconnected clients that waited keep a descriptor open`() throws {
    #expect(mkfifo("\(path)/gate", 0o600) == 0)
    try stage.start()
    try stage.reload(
      commands.configuration(
        "test $(wc -l < HERE/runs) = 1 && read line < HERE/gate; cat HERE/canary.token",
        options: ", ttl: 1s, timeout: 1m"))
    let daemon = Observed(pid: stage.daemon!.pid)
    // Stays connected, so that `before` counts its descriptor.
    let other = try stage.client()
    let port = try stage.daemon!.port()
    func ask() throws -> Int {
      try other.send("GET /other/x HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      return try other.response().status
    }
    #expect(try ask() == 200)
    let before = daemon.descriptors
    let clients = try (0..<20).map { _ in
      let client = try stage.client()
      try client.send(stage.head("GET"))
      return client
    }
    // This request is processed after the others.
    #expect(try ask() == 200)
    #expect(daemon.descriptors >= before + clients.count)
    for client in clients { client.abort() }
    #expect(eventually { daemon.descriptors <= before + 1 })
    let gate = open("\(path)/gate", O_WRONLY | O_CLOEXEC)
    #expect(gate >= 0 && write(gate, "go\n", 3) == 3)
    close(gate)
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try stage.get().status == 200)
    #expect(eventually { commands.runs.count > 3 })
    // The last client may still be connected, and the credential has a new connection to the upstream.
    #expect(eventually { daemon.descriptors <= before + 2 }, "\(before), now \(daemon.descriptors)")
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: Observed.isMemoryMeasurable && isRoot, "reads other processes' memory"))
  func `T50: a program's output is only in locked memory, and not in arguments or environments`()
    throws
  {
    try stage.start(
      commands.configuration(
        "echo $(cat HERE/canary.token)-$(wc -l < HERE/runs); cat HERE/canary.token >&2", options: ", ttl: 2s"))
    for generation in 1...3 {
      #expect(stage.waitForSecret(version: generation))
      #expect(try stage.get().status == 200)
    }
    let secret = Data(stage.canary.dropFirst(7).utf8)
    let pid = stage.daemon!.pid
    var (found, leaks) = (0, [String]())
    for region in try Memory.regions(of: pid) {
      guard let bytes = Memory.read(region, of: pid), bytes.range(of: secret) != nil else { continue }
      found += 1
      if !region.isLocked || !region.isExcludedFromCores { leaks.append("\(region.name) \(region.flags)") }
    }
    #expect(found > 0, "it is the right memory")
    #expect(leaks.isEmpty, "\(leaks)")
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(name) != nil {
      for file in ["cmdline", "environ"] {
        let bytes = FileManager.default.contents(atPath: "/proc/\(name)/\(file)") ?? Data()
        #expect(bytes.range(of: secret) == nil, "\(name) \(file)")
      }
    }
    #expect(stage.recorded.components(separatedBy: stage.canary).count == 4)
    stage.assertCanary(times: 0, as: "nowhere else")
  }
}
