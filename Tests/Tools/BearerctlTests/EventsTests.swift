import Foundation
import TestSupport
import Testing

@Suite struct EventsTests {
  @Test("the page in docs is what the program prints; make generate writes it anew")
  func page() throws {
    let run = try Run("events")
    #expect(run.status == 0)
    let file = URL(fileURLWithPath: repositoryRoot).appendingPathComponent("docs/events.md")
    #expect(run.output == (try String(contentsOf: file, encoding: .utf8)))
  }
}
