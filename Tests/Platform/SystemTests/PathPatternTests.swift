import Foundation
import System
import Testing

@Suite struct PathPatternTests {
  private let scratch = try! Scratch()

  @Test func `wildcards count in the pattern, and not in the name of the directory`() throws {
    let directory = scratch.path + "/a[1]*"
    try FileManager.default.createDirectory(atPath: directory + "/conf.d", withIntermediateDirectories: true)
    for name in ["conf.d/b.yaml", "conf.d/a.yaml", "conf.d/.hidden.yaml", "conf.d/c.txt"] {
      scratch.write("", to: "a[1]*/" + name)
    }
    let pattern = PathPattern("./conf.d/*.yaml", in: directory)
    #expect(try pattern.matches() == ["a", "b"].map { "\(directory)/conf.d/\($0).yaml" })
    #expect(pattern.matches(directory + "/conf.d/new.yaml") && !pattern.matches(directory + "/conf.d/x/new.yaml"))
    #expect(try PathPattern("\(scratch.path)/a?1]?/conf.d/c.*", in: "/").matches() == [directory + "/conf.d/c.txt"])
  }

  @Test func `a path without wildcards matches itself, and a missing directory has no matches`() throws {
    let directory = scratch.path + "/a[1]"
    let pattern = PathPattern("conf.d/missing.yaml", in: directory)
    #expect(try pattern.matches() == [directory + "/conf.d/missing.yaml"])
    #expect(pattern.matches(directory + "/conf.d/missing.yaml") && !pattern.matches(directory + "/conf.d/other.yaml"))
    #expect(try PathPattern("conf.d/*.yaml", in: directory).matches().isEmpty)
  }
}
