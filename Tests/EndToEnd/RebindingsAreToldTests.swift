import DemoUpstream
import Foundation
import TestSupport
import Testing

/// Whoever can change the configuration can send a credential elsewhere; the log says that it happened.
@Suite struct RebindingsAreTold {
  private static let client = "sha256/" + Data(repeating: 7, count: 32).base64EncodedString()

  /// The lines since the last call.
  private final class Told {
    private let stage: Stage
    private var seen = 0
    init(_ stage: Stage) { self.stage = stage }

    func reload(_ configuration: String) throws -> [String] {
      try stage.reload(configuration)
      let lines = stage.daemon!.logText.components(separatedBy: "\n").filter { $0.contains("event=credential-rebound") }
      defer { seen = lines.count }
      return lines[seen...].map { String($0[$0.range(of: "event=")!.lowerBound...]) }
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
    let (line, evil) = ("event=credential-rebound credential=canary", "https://evil.test")
    #expect(try told.reload(wider) == ["\(line) added=\(evil)"])
    #expect(try told.reload(wider.replacing("pins: [", with: "pin_mode: enforce\n    pins: [")) == [])
    #expect(try told.reload(usual) == ["\(line) removed=\(evil)"])
    #expect(try stage.get("/api/x").status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T51: so does one that lets others have it sent, or asks less of the server`() throws {
    let stage = try Stage()
    let usual = stage.configuration()
    try stage.start(usual)
    let told = Told(stage)
    let line = "event=credential-rebound credential=canary"
    let pins = [stage.leaf.pin, stage.backup.pin].sorted().map { "\($0) for \(stage.origin)" }.joined(separator: ", ")
    let authority = "\(stage.scratch.path)/ca.pem for \(stage.origin)"
    #expect(
      try told.reload(usual.replacing("credential: canary", with: "credential: canary\n    pin_mode: report"))
        == ["\(line) added=\"\(authority) without pins\" removed=\"\(authority), \(pins)\""])
    #expect(
      try told.reload(usual) == ["\(line) added=\"\(authority), \(pins)\" removed=\"\(authority) without pins\""])
    let mine = "allow_users: [\(getuid())]"
    let more = usual.replacing(mine, with: "allow_users: [\(getuid()), 4242]")
    #expect(try told.reload(more) == ["\(line) added=\"user 4242\""])
    // Who is not in every list may not.
    let narrowed = more.replacing("origins:", with: "allow_users: [\(getuid()), 4343]\n    origins:")
    #expect(try told.reload(narrowed) == ["\(line) removed=\"user 4242\""])
    let clients = narrowed.replacing(
      "address: localhost:0", with: "address: localhost:0\n    clients: { ci: \(Self.client) }")
    #expect(try told.reload(clients) == ["\(line) added=\"client ci\""])
    stage.assertCanary(times: 0)
  }
}
