import Foundation
import TestSupport
import Testing

@Suite struct ReferenceTests {
  @Test func `docs/reference is up to date: make generate writes the output of bearerctl reference`() throws {
    let folder = "\(repositoryRoot)/docs/reference"
    let paths = try Run("reference").output.split(separator: "\n").map(String.init)
    #expect(paths.count > 25)
    for path in paths {
      #expect(
        try Run("reference", path).output == String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8), "\(path)")
    }
    for part in ["errors", "commands"] {
      for name in try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(part)") {
        #expect(paths.contains("\(part)/\(name)"), "docs/reference/\(part)/\(name) is left over")
      }
    }
  }
}
