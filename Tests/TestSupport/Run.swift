import Foundation

/// One run of `bearerctl`, as built beside the tests, from the same tree.
package struct Run {
  package let status: Int32
  package let output: String
  package let errors: String

  /// Without a terminal, and without what the environment would add.
  @discardableResult
  package init(_ arguments: String..., environment: [String: String] = [:]) throws {
    try self.init(program: Self.binary, arguments, environment: environment)
  }

  package init(program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    let result = try run(
      [program] + arguments, environment: environment, over: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"],
      seconds: arguments.first == "selftest" ? Self.longest : 30)
    (status, output, errors) = (result.status, result.output, result.errors)
  }

  /// Seconds for a self-test, which waits for many deadlines: on a busy machine, or under a sanitizer.
  private static let longest: Double = 240

  package static var binary: String { RunningDaemon.binary("bearerctl") }
}

extension Scratch {
  /// What a run printed, with this directory written `DIR`, and who runs the tests `ME`.
  package func plain(_ text: String) -> String {
    text.replacingOccurrences(of: path, with: "DIR")
      .replacingOccurrences(of: "\(NSUserName()) (uid \(getuid()))", with: "ME")
      .replacingOccurrences(of: "; \(NSUserName()) can read it", with: "; ME can read it")
  }
}

/// A configuration of `config/examples`, with users and groups that this machine has.
package func example(_ name: String, in scratch: Scratch) throws -> String {
  let folder = URL(fileURLWithPath: "\(repositoryRoot)/config/examples")
  let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    .replacingOccurrences(of: "[dev, deploy]", with: "[\(getuid()), 65533]")
    .replacingOccurrences(of: "[dev]", with: "[\(getuid())]")
    .replacingOccurrences(of: "[developers]", with: "[\"\(String(cString: getgrgid(getgid()).pointee.gr_name))\"]")
  return try scratch.write(name, text, mode: 0o644)
}

package func exampleNames() -> [String] {
  let folder = URL(fileURLWithPath: "\(repositoryRoot)/config/examples")
  let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  return names.filter { $0.hasSuffix(".yaml") && $0 != "reference.yaml" }.sorted()
}
