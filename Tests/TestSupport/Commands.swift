import Foundation

/// The output and exit status of a command.
package struct CommandResult {
  package let status: Int32
  package let output: String
  package let errors: String

  package init(status: Int32, output: String, errors: String) {
    (self.status, self.output, self.errors) = (status, output, errors)
  }
}

/// Runs a program until it exits.
/// - Parameters:
///   - arguments: the program first, looked up in PATH by env(1).
///   - environment: variables that are added to `base`.
package func run(
  _ arguments: [String], environment: [String: String] = [:],
  over base: [String: String] = ProcessInfo.processInfo.environment, seconds: Double = 60
) throws -> CommandResult {
  let output = OutputCollector()
  let errors = OutputCollector()
  let process = try Child(
    "/usr/bin/env", arguments, environment: base.merging(environment) { $1 },
    output: output.writing.fileDescriptor, errors: errors.writing.fileDescriptor)
  try output.writing.close()
  try errors.writing.close()
  let status = process.wait(seconds: seconds)
  output.finish()
  errors.finish()
  return CommandResult(status: status, output: output.text, errors: errors.text)
}

/// Whether a program is installed.
package func hasCommand(_ name: String) -> Bool { (try? run(["sh", "-c", "command -v \(name)"]))?.status == 0 }

package let isRoot = getuid() == 0
