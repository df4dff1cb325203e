import Foundation
import TestServer
import TestSupport
import Testing

/// No attack of `bearerctl selftest` succeeds with any recommended configuration.
/// `Tests/Mutations/run --selftest` checks that the self-test detects faults.
@Suite struct SelftestRunTests {
  @Test
  func `every attack runs and fails with the configuration of the mutations`() throws {
    let scratch = try Scratch()
    let text = try String(contentsOfFile: "\(repositoryRoot)/Tests/Mutations/selftest.yaml", encoding: .utf8)
    let file = try scratch.write("bearerd.yaml", text.replacingOccurrences(of: "UID", with: "\(getuid())"))
    let run = try Run("selftest", "--json", "--config", file)
    #expect(run.status == 0, "\(run.output)\(run.errors)")
    let results = try #require(
      try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]])
    let threats = results.compactMap { $0["threat"] as? String }
    #expect(threats.count == 38 && Set(threats).count == 38, "\(threats)")
    let rest = results.filter { $0["outcome"] as? String != "pass" }.compactMap { $0["threat"] as? String }
    // T28 needs a name that resolves to loopback, which some machines do not have.
    #expect(Set(rest).isSubset(of: ["T28"]), "\(results)")
  }

  @Test(arguments: ["reference.yaml", "couchdb.yaml"])
  func `every attack fails with the reference and another example`(name: String) throws {
    let scratch = try Scratch()
    let file = try exampleConfiguration(name, in: scratch)
    let run = try Run("selftest", "--config", file)
    #expect(run.status == 0 && run.errors == "", "\(run.output)\(run.errors)")
    #expect(!run.output.contains("\u{1B}"))
    // The numbers of attacks depend on the example and on the machine.
    let line = try #require(run.output.split(separator: "\n").last)
    let result = line.replacing(/[ ]\([^)]*\)/, with: "").appending("\n")
    #expect(result == (try golden("selftest-result.txt", for: result)))
  }

  @Test(arguments: [SIGINT, SIGQUIT])
  func `an interrupted self-test leaves nothing behind`(signal: Int32) throws {
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

  @Test
  func `an unusual configuration causes no false alarm, and the self-test reads no secret`() throws {
    let scratch = try Scratch()
    // Too long for the path of a Unix socket.
    let temporary = String(repeating: "x", count: 90)
    try scratch.write("\(temporary)/there", "")
    try scratch.write("company.crl", Certificate.authority("company").revocationListPEM(), mode: 0o644)
    let secret = "USERS-OWN-SECRET"
    try scratch.write("own.token", secret)
    let audit = scratch.path + "/audit.log"
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      audit: { file: \(audit), required: true }
      pin_policies:
        example.com:
          pins:
            - sha256/aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28=
            - sha256/aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd20=
          include_subdomains: true
          expires: 2020-01-01
        api.example.com: { exclude: true }
      credentials:
        file: { origins: [https://api.example.com], bearer: { file: own.token }, suspend: { after: 1, for: 1h } }
        systemd: { origins: [https://api.example.com], bearer: { systemd: token } }
        environment: { origins: [https://api.example.com], bearer: { env: NO_SUCH_VARIABLE } }
        command: { origins: [https://api.example.com], bearer: { command: [/bin/false, x], ttl: 1m } }
      services:
        rates:
          upstream: https://api.example.com/v1/
          credential: file
          rate: 1/d
          rules: [{ match: /own, rate: 1/d }, { match: /free, rate: none }, { match: "/**" }]
        bare-reads:
          upstream: https://api.example.com/v1/
          credential: systemd
          rules: [{ match: "/**", methods: [GET, HEAD], credential: none }, { match: "/**" }]
        no-reads:
          upstream: https://api.example.com/v1/
          credential: environment
          rules: [{ match: "/**", methods: [GET], deny: true }, { match: "/**" }]
        allowed-fields:
          upstream: https://10.0.0.5/v1/
          server_name: api.example.com
          credential: command
          revocation: { crl_file: company.crl, stapling: use }
          allow_client_headers: [X-Forwarded-For, X-Forwarded-Host, Forwarded]
      """
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let before = try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
    let run = try Run("selftest", "--config", file, environment: ["TMPDIR": "\(scratch.path)/\(temporary)"])
    #expect(run.status == 0, "\(run.output)\(run.errors)")
    // All attacks that need a credential are applicable. T8 is for root, and T28 needs another name for loopback.
    let skipped = run.output.matches(of: /\n[ ]+(T\d+) .* -[ ]{5}/).map { String($0.1) }
    #expect(Set(skipped).isSubset(of: ["T8", "T28"]), "\(skipped)")
    let start = run.output.components(separatedBy: "\n\n")[1] + "\n"
    #expect(start == (try golden("selftest-start.txt", for: start)))
    #expect(!run.output.contains(secret) && !FileManager.default.fileExists(atPath: audit))
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/\(temporary)") == ["there"])
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date == before)
  }

  @Test
  func `the self-test attacks only the named service`() throws {
    let scratch = try Scratch()
    let file = try exampleConfiguration("two-accounts.yaml", in: scratch)
    let run = try Run("selftest", "robot", "--config", file)
    #expect(run.status == 0, "\(run.output)\(run.errors)")
    let start = run.output.components(separatedBy: "\n\n")[1] + "\n"
    #expect(start == (try golden("selftest-one-service.txt", for: start)))
    let unknown = try Run("selftest", "nobody", "--config", file)
    #expect(unknown.status == 2)
    #expect(unknown.errors == (try golden("selftest-unknown-service.txt", for: unknown.errors)))
  }

  @Test
  func `the self-test exits with 2 for an invalid configuration`() throws {
    let scratch = try Scratch()
    let listeners = "listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }\n"
    let file = try scratch.write("bearerd.yaml", listeners + "services: { a: { upstrem: x } }\n", mode: 0o644)
    let run = try Run("selftest", "--config", file)
    #expect(run.status == 2 && run.output == "")
    let errors = scratch.plain(run.errors)
    #expect(errors == (try golden("selftest-invalid.txt", for: errors)))
  }

  @Test(arguments: [
    // Claims to listen, but does not.
    ("echo ' event=listening listener=main address=127.0.0.1:1'; echo ' event=ready'; exec tail -f /dev/null", false),
    // Is killed at its fortieth refusal, after the first attack.
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
  func `a crashed daemon does not count as a refusal`(script: String, isStarted: Bool) throws {
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
    // The daemon's last output follows.
    let reason = String(run.errors.prefix { !$0.isNewline } + "\n")
    #expect(reason == (try golden("selftest-crash.txt", for: reason)))
    #expect(run.output.contains("pass  ") == isStarted, "\(run.output)")
    #expect(!run.output.contains(/\d+ of \d+ passed/))
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
}

/// Returns an example configuration, adapted to this machine, with the authority file that it names.
func exampleConfiguration(_ name: String, in scratch: Scratch) throws -> String {
  var authority = Certificate.Options()
  authority.isCA = true
  try scratch.write("ca.pem", Certificate(authority).pem, mode: 0o644)
  guard name == "reference.yaml" else { return try example(name, in: scratch) }
  let text = try String(contentsOfFile: "\(repositoryRoot)/config/examples/reference.yaml", encoding: .utf8)
    .replacingOccurrences(of: "# allow_users: [dev, deploy]", with: "allow_users: [\(getuid())]")
  return try scratch.write(name, text, mode: 0o644)
}
