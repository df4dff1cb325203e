import Foundation
import Selftest
import ServerSupport
import TestServer
import TestSupport
import Testing

/// Plays the table of attacks (`Sources/Tools/Selftest/Table`), which `bearerctl selftest` plays under a user's own rules, under
/// rules of ours, and judges paths by readings of our own. A new attack is a new row there.
@Suite(.waits) struct AttacksComeToNothing {
  @Test(arguments: AttackTable.threats, ["GET", "POST"])
  func `T1 T2 T3 T10 T11 T12 T13 T14 T15 T16 T18 T26 T32 T34 T35 T36 T45: no row of the table does harm`(
    threat: Int, method: String
  )
    throws
  {
    let script = UpstreamScript()
    let stage = try Stage { script.serve($0, of: 0, number: $0.number) }
    // Cookies that do not pass cannot be seen.
    let cookies = threat == 34 ? "\ncookies: pass" : ""
    try stage.start(stage.configuration(service: GuardedPaths.rules + cookies))
    let stranger = try Stage()
    let place = try stage.place(method: method, path: "/api/public/x", stranger: stranger.upstream.port)
    let rows = AttackTable.rows(at: place).filter { $0.threat == threat }
    #expect(!rows.isEmpty)
    for row in rows {
      let messages = place.messages(of: row)
      let before = script.count
      let answer = try script.answering({ messages.answer ?? UpstreamScript.ok($0) }) {
        let client = try stage.raw()
        try client.send(messages.request)
        client.shutdownSending()
        return client.rest().bytes
      }
      let received = Array(script.received.dropFirst(before))
      let fault = row.fault(answer, received, at: place)
      #expect(fault == nil, "T\(row.threat), \(row.name): \(fault?.seen ?? ""); expected: \(fault?.expected ?? "")")
      // Whatever it left behind, the next one gets its own answer.
      let next = try stage.raw()
      try next.send(stage.head("GET", "/api/public/next"))
      #expect(try next.answer().body == "hello\n", "\(row.name)")
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
  /// Where the rows of the table are played here.
  /// - Parameter stranger: the port of a server that nothing leads to.
  func place(method: String, path: String, stranger: UInt16 = 0) throws -> AttackPlace {
    AttackPlace(
      method: method, path: path, mount: "/api/", outside: "/api/admin", port: try daemon!.port(),
      upstream: "localhost:\(upstream.port)", stranger: "localhost:\(stranger)",
      credential: ("Authorization", "Bearer \(canary)"),
      escape: { GuardedPaths.escape(of: $0.target) })
  }
}
