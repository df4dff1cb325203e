import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A changed configuration can send a credential elsewhere, so the log reports each such change.
@Suite(.inProcess) struct RebindingsAreLogged {
  private static let client = "sha256/" + Data(repeating: 7, count: 32).base64EncodedString()

  /// Reloads, and returns the events since the last reload.
  private final class ReloadRecorder {
    private let stage: Stage
    private var seen = 0
    init(_ stage: Stage) { self.stage = stage }

    /// Returns the fields of each event, from `credential` on.
    func reload(_ configuration: String) throws -> [[String]] {
      try stage.reload(configuration)
      let lines = stage.log.lines(of: .credentialRebound)
      defer { seen = lines.count }
      return lines[seen...].map { $0.fields.dropFirst(3).map { "\($0.name)=\($0.value)" } }
    }
  }

  @Test func `T51: a reload logs each change of a credential's origins`() throws {
    let stage = try Stage()
    let usual = stage.configuration()
    try stage.start(usual)
    let recorder = ReloadRecorder(stage)
    #expect(try recorder.reload(usual) == [])
    #expect(try recorder.reload(stage.configuration(service: "rules: [{ match: /x }]\nrate: 5/s")) == [])
    let wider = usual.replacing("origins: [\"", with: "origins: [https://evil.test, \"")
    let (line, evil) = ("credential=canary", "https://evil.test")
    #expect(try recorder.reload(wider) == [[line, "added=\(evil)"]])
    #expect(try recorder.reload(wider.replacing("pins: [", with: "pin_mode: enforce\n    pins: [")) == [])
    #expect(try recorder.reload(usual) == [[line, "removed=\(evil)"]])
    #expect(try stage.get("/api/x").status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T51: a reload logs each change of the host to which bearerd connects`() throws {
    let stage = try Stage()
    let usual = stage.configuration()
    try stage.start(usual)
    let recorder = ReloadRecorder(stage)
    let (line, port) = ("credential=canary", stage.upstream.port)
    let named = usual.replacing(
      "upstream: \(stage.origin)/", with: "server_name: localhost\n    upstream: https://127.0.0.1:\(port)/")
    #expect(
      try recorder.reload(named) == [[line, "added=\(stage.origin) by a connection to 127.0.0.1"]])
    #expect(try stage.get().status == 200)
    #expect(
      try recorder.reload(named.replacing("https://127.0.0.1:", with: "https://lb.test:"))
        == [
          [
            line, "added=\(stage.origin) by a connection to lb.test",
            "removed=\(stage.origin) by a connection to 127.0.0.1",
          ]
        ])
    stage.assertCanary(times: 1)
  }

  @Test func `T51: a reload logs each change of a credential's callers, pins and authorities`() throws {
    let stage = try Stage()
    let usual = stage.configuration()
    try stage.start(usual)
    let recorder = ReloadRecorder(stage)
    let line = "credential=canary"
    let pins = [stage.leaf.pin, stage.backup.pin].sorted().map { "\($0) for \(stage.origin)" }.joined(separator: ", ")
    let authority = "\(stage.scratch.path)/ca.pem for \(stage.origin)"
    #expect(
      try recorder.reload(usual.replacing("credential: canary", with: "credential: canary\n    pin_mode: report"))
        == [[line, "added=\(authority) without pins", "removed=\(authority), \(pins)"]])
    #expect(
      try recorder.reload(usual) == [[line, "added=\(authority), \(pins)", "removed=\(authority) without pins"]])
    let mine = "allow_users: [\(getuid())]"
    let more = usual.replacing(mine, with: "allow_users: [\(getuid()), 4242]")
    #expect(try recorder.reload(more) == [[line, "added=user 4242"]])
    // A user must be in every list.
    let narrowed = more.replacing("origins:", with: "allow_users: [\(getuid()), 4343]\n    origins:")
    #expect(try recorder.reload(narrowed) == [[line, "removed=user 4242"]])
    let clients = narrowed.replacing(
      "address: localhost:0", with: "address: localhost:0\n    clients: { ci: \(Self.client) }")
    #expect(try recorder.reload(clients) == [[line, "added=client ci"]])
    stage.assertCanary(times: 0)
  }

  @Test func `T51: a reload logs each change of a credential's source, but not of its name`()
    throws
  {
    let stage = try Stage()
    let usual = stage.configuration(credential: "bearer: { file: canary.token }")
    try stage.scratch.write("other.token", "OTHER-secret")
    try stage.start(usual)
    let recorder = ReloadRecorder(stage)
    let (line, files) = ("credential=canary", "file \(stage.scratch.path)")
    let other = usual.replacing("canary.token", with: "other.token")
    #expect(
      try recorder.reload(other) == [[line, "added=\(files)/other.token", "removed=\(files)/canary.token"]])
    #expect(try recorder.reload(usual).count == 1)
    // A new name or a new secret alone is not logged.
    let renamed = usual.replacing("  canary:", with: "  second:").replacing(
      "credential: canary", with: "credential: second")
    #expect(try recorder.reload(renamed) == [])
    #expect(try recorder.reload(usual) == [])
    let wider = renamed.replacing("origins: [\"", with: "origins: [https://evil.test, \"")
    #expect(try recorder.reload(wider) == [["credential=second", "added=https://evil.test"]])
    let new = usual.replacing(
      "credentials:\n", with: "credentials:\n  new: { origins: [https://new.test], bearer: { file: other.token } }\n")
    #expect(try recorder.reload(new) == [])
    // A command with other arguments may print another secret. A changed ttl does not.
    let command = usual.replacing("file: canary.token", with: "command: [/bin/echo, CANARY-argument], ttl: 1m")
    #expect(try recorder.reload(command).count == 1)
    #expect(try recorder.reload(command.replacing("ttl: 1m", with: "ttl: 2m")) == [])
    let changed = try recorder.reload(command.replacing("CANARY-argument", with: "ANOTHER"))
    #expect(changed == [[line, "added=command /bin/echo", "removed=command /bin/echo"]])
    stage.assertCanary(times: 0)
  }
}
