@testable import Configuration
import Foundation
import Testing

/// Tries wrong values and names of each key with a single value: a list, values that are out of its bounds, and the name
/// without its last letter. `UPDATE_GOLDEN=1 swift test …` rewrites the messages of each section, for review in the diff.
@Suite struct ScalarTests {
  private static let sections = Set(keys.map(\.section)).sorted()

  @Test(arguments: sections) func `wrong values and misspelled names give the expected messages`(_ section: String)
    throws
  {
    var messages = ""
    for (_, key, wrong) in Self.keys.filter({ $0.section == section }) {
      let file = try #require(KeySurroundings.file(section, key), "\(section).\(key)")
      for line in (["[1]"] + wrong).map({ "\(key): \($0)" }) + ["\(key.dropLast()): 1"] {
        guard case .failure(let errors) = KeySurroundings.machine.read(file.replacing("@", with: "\n\(line)\n")) else {
          Issue.record("\(section): \(line) is accepted")
          continue
        }
        // The other lines of the file may need the key.
        let found = errors.diagnostics.filter { $0.line == 2 }
        #expect(found.contains { $0.severity == .error }, "\(section): \(line)")
        messages += found.map { "\($0)\n" }.joined()
      }
    }
    let golden = GoldenTests.folder.appending(path: "Scalars/\(section).golden")
    if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
      try messages.write(to: golden, atomically: true, encoding: .utf8)
      return
    }
    #expect(messages == (try String(contentsOf: golden, encoding: .utf8)))
  }
}
