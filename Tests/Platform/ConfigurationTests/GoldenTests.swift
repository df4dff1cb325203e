@testable import Configuration
import Foundation
import Settings
import Testing

/// Each golden file has a configuration, a line `----------`, and the expected output: all diagnostics, or `ok` with
/// the settings and advice. `UPDATE_GOLDEN=1 swift test …` rewrites the output, for review in the diff.
@Suite struct GoldenTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Golden")
  static let separator = "----------\n"

  static let names: [String] = {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return all.filter { $0.hasSuffix(".golden") }.sorted()
  }()

  @Test func `the Golden folder contains at least 60 cases`() { #expect(Self.names.count >= 60) }

  @Test(arguments: names) func `every golden configuration produces its expected output`(_ name: String) throws {
    let url = Self.folder.appending(path: name)
    let text = try String(contentsOf: url, encoding: .utf8)
    let parts = text.components(separatedBy: Self.separator)
    let input = parts[0]
    let actual = Self.shown(Machine(comments: input).read(input))
    if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
      try (input + Self.separator + actual).write(to: url, atomically: true, encoding: .utf8)
      return
    }
    #expect(parts.count == 2)
    #expect(actual == parts.last)
    // The golden files use this text for secrets.
    #expect(!actual.contains("s3cret"))
  }

  static func shown(_ result: Result<(DaemonSettings, warnings: [Diagnostic]), ConfigurationErrors>) -> String {
    switch result {
    case .success(let (settings, warnings)):
      (["ok", SettingsSummary(settings).description] + warnings.map(\.description)).joined(separator: "\n") + "\n"
    case .failure(let errors):
      errors.diagnostics.map(\.description).joined(separator: "\n") + "\n"
    }
  }
}
