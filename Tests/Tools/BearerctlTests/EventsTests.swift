import TestSupport
import Testing

@Suite struct EventsTests {
  @Test func `events explains an event: level, fields, meaning and what to do`() throws {
    let run = try Run("events", "token-failed")
    #expect(run.status == 0)
    #expect(run.output == (try golden("events-token-failed.txt", for: run.output)))
    #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(run.output)")
  }

  @Test func `events suggests the right name and explains listed events`() throws {
    let near = try Run("events", "token-faild")
    #expect(near.status == 2 && near.errors.contains("\"token-failed\""), "\(near.errors)")
    let listed = try Run("events").output.matches(of: /\n  ([a-z-]+) +[a-z]/).map { String($0.1) }
    #expect(listed.count > 40)
    #expect(try Run("events", try #require(listed.last)).status == 0)
  }
}
