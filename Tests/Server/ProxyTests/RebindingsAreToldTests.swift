import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Whoever can change the configuration can send a credential elsewhere; the log says that it happened.
@Suite(.inProcess) struct RebindingsAreTold {
  private static let client = "sha256/" + Data(repeating: 7, count: 32).base64EncodedString()

  /// The lines since the last call.
  private final class Told {
    private let stage: Stage
    private var seen = 0
    init(_ stage: Stage) { self.stage = stage }

    /// The fields of each, from the credential on.
    func reload(_ configuration: String) throws -> [[String]] {
      try stage.reload(configuration)
      let lines = stage.log.lines(of: .credentialRebound)
      defer { seen = lines.count }
      return lines[seen...].map { $0.fields.dropFirst(3).map { "\($0.name)=\($0.value)" } }
    }
  }

  @Test func `T51: a reload that lets a credential go elsewhere says so, and no other does`() throws {
    let stage = try Stage()
    let usual = stage.configuration()
    try stage.start(usual)
    let told = Told(stage)
    #expect(try told.reload(usual) == [])
    #expect(try told.reload(stage.configuration(service: "rules: [{ match: /x }]\nrate: 5/s")) == [])
    let wider = usual.replacing("origins: [\"", with: "origins: [https://evil.test, \"")
    let (line, evil) = ("credential=canary", "https://evil.test")
    #expect(try told.reload(wider) == [[line, "added=\(evil)"]])
    #expect(try told.reload(wider.replacing("pins: [", with: "pin_mode: enforce\n    pins: [")) == [])
    #expect(try told.reload(usual) == [[line, "removed=\(evil)"]])
    #expect(try stage.get("/api/x").status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T51: so does one that lets others have it sent, or asks less of the server`() throws {
    let stage = try Stage()
    let usual = stage.configuration()
    try stage.start(usual)
    let told = Told(stage)
    let line = "credential=canary"
    let pins = [stage.leaf.pin, stage.backup.pin].sorted().map { "\($0) for \(stage.origin)" }.joined(separator: ", ")
    let authority = "\(stage.scratch.path)/ca.pem for \(stage.origin)"
    #expect(
      try told.reload(usual.replacing("credential: canary", with: "credential: canary\n    pin_mode: report"))
        == [[line, "added=\(authority) without pins", "removed=\(authority), \(pins)"]])
    #expect(
      try told.reload(usual) == [[line, "added=\(authority), \(pins)", "removed=\(authority) without pins"]])
    let mine = "allow_users: [\(getuid())]"
    let more = usual.replacing(mine, with: "allow_users: [\(getuid()), 4242]")
    #expect(try told.reload(more) == [[line, "added=user 4242"]])
    // Who is not in every list may not.
    let narrowed = more.replacing("origins:", with: "allow_users: [\(getuid()), 4343]\n    origins:")
    #expect(try told.reload(narrowed) == [[line, "removed=user 4242"]])
    let clients = narrowed.replacing(
      "address: localhost:0", with: "address: localhost:0\n    clients: { ci: \(Self.client) }")
    #expect(try told.reload(clients) == [[line, "added=client ci"]])
    stage.assertCanary(times: 0)
  }

  @Test func `T51: so does one that gives a credential another secret, or a secret another name and a longer reach`()
    throws
  {
    let stage = try Stage()
    let usual = stage.configuration(credential: "bearer: { file: canary.token }")
    try stage.scratch.write("other.token", "OTHER-secret")
    try stage.start(usual)
    let told = Told(stage)
    let (line, files) = ("credential=canary", "file \(stage.scratch.path)")
    let other = usual.replacing("canary.token", with: "other.token")
    #expect(
      try told.reload(other) == [[line, "added=\(files)/other.token", "removed=\(files)/canary.token"]])
    #expect(try told.reload(usual).count == 1)
    // Another name alone is none of it, nor is a secret that is new.
    let renamed = usual.replacing("  canary:", with: "  second:").replacing(
      "credential: canary", with: "credential: second")
    #expect(try told.reload(renamed) == [])
    #expect(try told.reload(usual) == [])
    let wider = renamed.replacing("origins: [\"", with: "origins: [https://evil.test, \"")
    #expect(try told.reload(wider) == [["credential=second", "added=https://evil.test"]])
    let new = usual.replacing(
      "credentials:\n", with: "credentials:\n  new: { origins: [https://new.test], bearer: { file: other.token } }\n")
    #expect(try told.reload(new) == [])
    // A command that has other arguments may print another secret; one that has other times does not.
    let command = usual.replacing("file: canary.token", with: "command: [/bin/echo, CANARY-argument], ttl: 1m")
    #expect(try told.reload(command).count == 1)
    #expect(try told.reload(command.replacing("ttl: 1m", with: "ttl: 2m")) == [])
    let changed = try told.reload(command.replacing("CANARY-argument", with: "ANOTHER"))
    #expect(changed == [[line, "added=command /bin/echo", "removed=command /bin/echo"]])
    stage.assertCanary(times: 0)
  }
}
