import Foundation

/// One run of the `bearerctl` that was built with the tests.
package struct Run {
  package let status: Int32
  package let output: String
  package let errors: String

  /// Standard output, then standard error.
  package var text: String { output + errors }

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
  /// Returns the output of a run with `DIR` for this directory, and `ME` and `UID` for the current user, so that the
  /// text is the same on every machine.
  /// - Parameter values: other variable parts, such as ports, each with a name for it.
  package func plain(_ text: String, _ values: [String: String] = [:]) -> String {
    var lines = text.components(separatedBy: "\n")
    // The length of an underlined path varies.
    for index in lines.indices.dropFirst() where lines[index - 1].contains(path) {
      lines[index].replace(/^( *\^)~+$/) { $0.1 + "~~~" }
    }
    let plain = values.reduce(lines.joined(separator: "\n")) { $0.replacing($1.key, with: $1.value) }
    return plain.replacing(path, with: "DIR")
      .replacing(/[^ ]+ \(uid (\d+)\)/) { $0.1 == "\(getuid())" ? "ME" : String($0.0) }
      .replacing(/; (uid )?[^ ]+ can read it/, with: "; ME can read it")
      .replacing("allow_users: [\(getuid())", with: "allow_users: [UID")
  }
}

/// Returns a command line and its output, for a golden file with several runs.
package func transcript(_ arguments: [String], _ text: String) -> String {
  let words = ["$ bearerctl"] + arguments.map { $0.contains(/[\s"']/) || $0.isEmpty ? $0.debugDescription : $0 }
  return words.joined(separator: " ") + "\n\(text)\n"
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
