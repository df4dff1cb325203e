import Console
import Foundation
import Policy
@testable import Selftest
import ServerSupport
import TestServer
import TestSupport
import Testing

/// Runs the table of attacks (`Sources/Tools/Selftest/Table`) with rules for this test. `bearerctl selftest` runs the
/// same table with the user's rules. For a new attack, add a row to the table.
@Suite(.waits) struct AttacksComeToNothing {
  @Test(arguments: AttackTable.threats, ["GET", "POST"])
  func `T1 T2 T3 T10 T11 T12 T13 T14 T15 T16 T18 T26 T32 T34 T35 T36 T45: no attack in the table succeeds`(
    threat: Int, method: String
  )
    throws
  {
    let script = UpstreamScript()
    let stage = try Stage { script.serve($0, of: 0, number: $0.number) }
    // Otherwise bearerd removes all cookies, and the attacks have no visible effect.
    let cookies = threat == 34 ? "\ncookies: pass" : ""
    try stage.start(stage.configuration(service: GuardedPaths.rules + cookies))
    let stranger = try Stage()
    let context = try stage.attackContext(method: method, path: "/api/public/x", stranger: stranger.upstream.port)
    let rows = AttackTable.rows(at: context).filter { $0.threat == threat }
    #expect(!rows.isEmpty)
    for row in rows {
      let messages = context.messages(of: row)
      let before = script.count
      let response = try script.responding({ messages.response ?? UpstreamScript.ok($0) }) {
        let client = try stage.raw()
        try client.send(messages.request)
        client.shutdownSending()
        return client.rest().bytes
      }
      let received = Array(script.received.dropFirst(before))
      let fault = row.fault(Reply(response), received, at: context)
      #expect(fault == nil, "T\(row.threat), \(row.name): \(fault?.seen ?? ""); expected: \(fault?.expected ?? "")")
      // The attack must not affect the next request.
      let next = try stage.raw()
      try next.send(stage.head("GET", "/api/public/next"))
      #expect(try next.response().body == "hello\n", "\(row.name)")
      let last = try #require(script.received.last)
      #expect(script.count == before + received.count + 1 && last.target == "/base/public/next", "\(row.name)")
      if case .contained = row.expectation {
        #expect(!received.contains { $0.connection == last.connection }, "\(row.name)")
      }
    }
    let recorded = stage.recorded
    for word in ["theirs", "evil.test", "?smuggled"] { #expect(!recorded.contains(word), "\(word) went out") }
    #expect(stranger.upstream.records.isEmpty)
    stage.assertCanary(times: recorded.components(separatedBy: stage.canary).count - 1)
  }
}

extension Stage {
  /// Returns the stage's addresses, paths and credential for the table of attacks.
  /// - Parameter stranger: the port of a server that must get no request.
  func attackContext(method: String, path: String, stranger: UInt16 = 0) throws -> AttackContext {
    let port = try daemon!.port()
    return AttackContext(
      method: method, path: path, mount: "/api/", deniedPath: "/api/admin", authority: "localhost:\(port)",
      upstream: "localhost:\(upstream.port)", foreignAuthority: "localhost:\(stranger)", port: port,
      credential: ("Authorization", "Bearer \(canary)"), allowed: [], onClientHeader: .replace,
      disallowedReading: { GuardedPaths.escape(of: $0.target) })
  }
}
