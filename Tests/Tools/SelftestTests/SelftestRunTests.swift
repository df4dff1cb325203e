import Foundation
import TestServer
import TestSupport
import Testing

/// `bearerctl selftest`: nothing gets through under any configuration that we recommend. That it notices when something
/// does is for `Tests/Mutations/run --selftest`.
@Suite struct SelftestRunTests {
  @Test("under each example nothing gets through", arguments: exampleNames() + ["bearerd.yaml"])
  func examples(name: String) throws {
    let scratch = try Scratch()
    let file = try readable(name, in: scratch)
    if name == "couchdb.yaml" {
      var authority = Certificate.Options()
      authority.isCA = true
      try scratch.write("ca.pem", Certificate(authority).pem, mode: 0o644)
    }
    let run = try Run("selftest", "--config", file)
    #expect(run.isPassed, "\(run.output)\(run.errors)")
    #expect(run.errors == "")
    #expect(isSanitized || run.output.contains("Nothing got through"))
    for id in 1...68 {
      #expect(run.output.contains("\n  \("T\(id)".padding(toLength: 4, withPad: " ", startingAt: 0)) "), "T\(id)")
    }
    #expect(!run.output.contains("\u{1B}"))
  }

  @Test("the shape that the mutations use concerns every attack but those that are not there yet")
  func everything() throws {
    let scratch = try Scratch()
    let text = try String(contentsOfFile: "\(repositoryRoot)/Tests/Mutations/selftest.yaml", encoding: .utf8)
    let file = try scratch.write("bearerd.yaml", text.replacingOccurrences(of: "UID", with: "\(getuid())"))
    let run = try Run("selftest", "--json", "--config", file)
    #expect(run.isPassed, "\(run.output)\(run.errors)")
    let results = try #require(
      try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]])
    func threats(_ outcome: String) -> Set<String> {
      Set(results.filter { $0["outcome"] as? String == outcome }.compactMap { $0["threat"] as? String })
    }
    // Whether some name leads to loopback is the machine's affair.
    let known: Set = getuid() == 0 ? ["T28"] : ["T6", "T28"]
    #expect(
      threats("not applicable").subtracting(known).isEmpty && threats("fail").isSubset(of: isSanitized ? ["T50"] : []),
      "\(results)")
    // What is planned, and what cannot be played from outside.
    #expect(
      threats("skip") == Set([27, 31, 37, 38, 39, 46, 53, 57, 59, 65, 66, 67, 68].map { "T\($0)" }))
    // One line for each row of docs/security/threats.md.
    let all = results.compactMap { $0["threat"] as? String }
    #expect(all.count == 68 && Set(all) == Set((1...68).map { "T\($0)" }), "\(all)")
    try expectTests(of: results)
  }

  /// An attack that is not played names tests that the table of threats names for it. One that is planned is planned there.
  private func expectTests(of results: [[String: Any]]) throws {
    let page = "\(repositoryRoot)/docs/security/threats.md"
    let table = try String(contentsOfFile: page, encoding: .utf8).split(separator: "\n")
    for result in results where result["outcome"] as? String == "skip" {
      let detail = try #require(result["detail"] as? String)
      let row = try #require(table.first { $0.hasPrefix("| \(result["threat"] ?? "") |") })
      if detail.hasPrefix("planned: ") {
        #expect(row.contains("| planned |"), "\(row)")
        continue
      }
      let tests = try #require(detail.split(separator: "; see ").last).split(separator: ", ")
      #expect(!tests.isEmpty)
      for test in tests { #expect(row.contains("`\(test)`"), "\(detail)") }
    }
  }

  @Test("a file of ours that carries the shape leaves nothing behind, and the user's secrets are not opened")
  func nothingIsLeft() throws {
    let scratch = try Scratch()
    let temporary = try Scratch()
    let secret = "USERS-OWN-SECRET"
    try scratch.write("own.token", secret)
    let audit = scratch.path + "/audit.log"
    let text = configuration("{ file: own.token }") + "\naudit: { file: \(audit), required: true }\n"
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let before = try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
    let run = try Run("selftest", "--config", file, environment: ["TMPDIR": temporary.path])
    #expect(run.isPassed, "\(run.output)\(run.errors)")
    #expect(!run.output.contains(secret))
    #expect(!FileManager.default.fileExists(atPath: audit))
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == [])
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date == before)
  }

  @Test("nor does one that is ended while it runs", arguments: [SIGINT, SIGQUIT])
  func interrupted(signal: Int32) throws {
    let scratch = try Scratch()
    let temporary = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("{ file: own.token }"), mode: 0o644)
    func left() -> [String] { (try? FileManager.default.subpathsOfDirectory(atPath: temporary.path)) ?? ["?"] }
    let run = try Child(
      Run.binary, ["selftest", "--config", file],
      environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TMPDIR": temporary.path])
    #expect(eventually { left().contains { $0.hasSuffix("bearerd.yaml") } })
    run.kill(signal)
    #expect(run.wait() == 128 + signal)
    #expect(left() == [])
  }

  @Test("a TMPDIR too long for the names of sockets is no hindrance")
  func longDirectory() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("{ file: own.token }"), mode: 0o644)
    try scratch.write("\(String(repeating: "x", count: 90))/there", "")
    let long = "\(scratch.path)/\(String(repeating: "x", count: 90))"
    let run = try Run("selftest", "--config", file, environment: ["TMPDIR": long])
    #expect(run.isPassed, "\(run.output)\(run.errors)")
  }

  @Test("secrets of systemd, of the environment and of a command are stood in for as well")
  func sources() throws {
    for source in ["{ systemd: token }", "{ env: NO_SUCH_VARIABLE }", "{ command: [/bin/false, x], ttl: 1m }"] {
      let scratch = try Scratch()
      let file = try scratch.write("bearerd.yaml", configuration(source), mode: 0o644)
      let run = try Run("selftest", "--config", file)
      #expect(run.isPassed, "\(source): \(run.output)\(run.errors)")
      #expect(run.output.contains("T40  nothing to inject"))
    }
  }

  @Test("only the service that is named is attacked")
  func oneService() throws {
    let scratch = try Scratch()
    let file = try readable("two-accounts.yaml", in: scratch)
    let run = try Run("selftest", "robot", "--config", file)
    #expect(run.isPassed && run.output.contains("Attacked: robot."), "\(run.output)\(run.errors)")
    let unknown = try Run("selftest", "nobody", "--config", file)
    #expect(unknown.status == 2 && unknown.errors.contains("there is no service nobody; there is "))
  }

  @Test("a configuration that cannot be used is the end, as for every command")
  func broken() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", "services: { a: { upstrem: x } }", mode: 0o644)
    let run = try Run("selftest", "--config", file)
    #expect(run.status == 2 && run.errors.contains("did you mean"), "\(run.errors)")
    #expect(run.output == "")
  }

  @Test(
    "where the first rule answers for GET, the service is attacked with what the later one lets through",
    arguments: [
      #"{ match: "/**", methods: [GET, HEAD], credential: none }"#, #"{ match: "/**", methods: [GET], deny: true }"#,
    ])
  func laterRule(first: String) throws {
    let scratch = try Scratch()
    let service = #"rules: [\#(first), { match: "/**" }]"#
    let file = try scratch.write("bearerd.yaml", configuration("{ file: token }", service: service), mode: 0o644)
    let run = try Run("selftest", "--config", file)
    #expect(run.isPassed, "\(run.output)\(run.errors)")
    #expect(run.output.contains("Attacked: api."))
    #expect(!run.output.contains("no credential is added"), "\(run.output)")
  }

  @Test(
    "neither a credential that one rejection suspends nor a rate of one a day is a false alarm, and the report says so")
  func suspension() throws {
    let scratch = try Scratch()
    let text = configuration(
      "{ file: token }, suspend: { after: 1, for: 1h }",
      service: "rate: 1/d, rules: [{ match: /own, rate: 1/d }, { match: /free, rate: none }, { match: \"/**\" }]")
    let run = try Run("selftest", "--config", try scratch.write("bearerd.yaml", text, mode: 0o644))
    #expect(run.isPassed, "\(run.output)\(run.errors)")
    let start = run.output.replacingOccurrences(of: "\n", with: " ")
    #expect(
      start.contains(
        "Upstreams, keys, secrets, addresses and who may ask are made for this test, and suspend and rates are off until they are what is attacked; the rest is as you wrote it."
      ), "\(run.output)")
  }

  @Test("T10: fields that the service allows are no false alarm")
  func allowedFields() throws {
    let scratch = try Scratch()
    let service = "allow_client_headers: [X-Forwarded-For, X-Forwarded-Host, Forwarded]"
    let file = try scratch.write("bearerd.yaml", configuration("{ file: token }", service: service), mode: 0o644)
    let run = try Run("selftest", "--config", file)
    #expect(run.isPassed, "\(run.output)\(run.errors)")
  }

  @Test(
    "a daemon that is gone has not refused anything",
    arguments: [
      // Says that it listens, and does not.
      ("echo ' event=listening listener=main address=127.0.0.1:1'; echo ' event=ready'; exec tail -f /dev/null", false),
      // Dies at the fortieth refusal, which is after the first attack.
      (
        """
        exec BEARERD "$@" 2> >(
          while read -r line; do
            echo "$line" >&2
            [[ $line == *" refused="* ]] && ((++count == 40)) && kill -KILL $$
          done)
        """, true
      ),
    ])
  func deadDaemon(script: String, isStarted: Bool) throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("{ file: token }"), mode: 0o644)
    try FileManager.default.copyItem(atPath: Run.binary, toPath: "\(scratch.path)/bearerctl")
    let lines = isStarted ? script : "exec >&2; \(script)"
    try scratch.write(
      "bearerd",
      "#!/bin/bash\n\(lines.replacingOccurrences(of: "BEARERD", with: "\(RunningDaemon.binary("bearerd"))"))\n",
      mode: 0o755)
    let run = try Run(program: "\(scratch.path)/bearerctl", ["selftest", "--config", file])
    #expect(run.status == 71, "\(run.output)\(run.errors)")
    #expect(run.errors.contains("bearerd does not answer (service api)"), "\(run.errors)")
    #expect(run.output.contains("pass  ") == isStarted, "\(run.output)")
    #expect(!run.output.contains("Nothing got through"))
  }

  @Test("T48: a daemon whose log has a secret in it does not pass")
  func leakingDaemon() throws {
    let scratch = try Scratch()
    let file = try scratch.write("bearerd.yaml", configuration("{ file: token }"), mode: 0o644)
    try FileManager.default.copyItem(atPath: Run.binary, toPath: "\(scratch.path)/bearerctl")
    let script = """
      #!/bin/bash
      secret=$(head -n 1 "$(dirname "$2")"/*.secret)
      exec "\(RunningDaemon.binary("bearerd"))" "$@" 2> >(while read -r line; do echo "$line leaked=$secret" >&2; done)

      """
    try scratch.write("bearerd", script, mode: 0o755)
    let run = try Run(program: "\(scratch.path)/bearerctl", ["selftest", "--config", file])
    #expect(run.status == 1, "\(run.output)\(run.errors)")
    #expect(run.output.contains(#/ T48 .* FAIL /#), "\(run.output)")
  }

  private func configuration(_ source: String, service: String = "") -> String {
    """
    listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
    credentials:
      api: { origins: [https://api.example.com], bearer: \(source) }
    services:
      api: { upstream: https://api.example.com/v1/, credential: api\(service.isEmpty ? "" : ", \(service)") }
    """
  }

  /// Of `config`, with users of this machine.
  private func readable(_ name: String, in scratch: Scratch) throws -> String {
    guard name == "bearerd.yaml" else { return try example(name, in: scratch) }
    let text = try String(contentsOfFile: "\(repositoryRoot)/config/bearerd.yaml", encoding: .utf8)
      .replacingOccurrences(of: "# allow_users: [dev, deploy]", with: "allow_users: [\(getuid())]")
    return try scratch.write(name, text, mode: 0o644)
  }
}
