import Foundation

/// One run of the `bearerctl` that was built with the tests.
package struct Run {
  package let status: Int32
  package let output: String
  package let errors: String

  /// Runs `bearerctl` without a terminal, and without the environment of the tests.
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

  /// Seconds for a self-test, which waits for many deadlines. Enough for a busy machine or a sanitizer.
  private static let longest: Double = 240

  package static var binary: String { RunningDaemon.binary("bearerctl") }
}

extension Scratch {
  /// Returns the output of a run with `DIR` for this directory and `ME` for the current user.
  package func plain(_ text: String) -> String {
    text.replacingOccurrences(of: path, with: "DIR")
      .replacingOccurrences(of: "\(NSUserName()) (uid \(getuid()))", with: "ME")
      .replacingOccurrences(of: "; \(NSUserName()) can read it", with: "; ME can read it")
  }
}

/// Writes a configuration of `config/examples` with users and groups of this machine, and returns its path.
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
