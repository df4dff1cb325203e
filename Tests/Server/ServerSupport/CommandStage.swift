import Foundation
import TestSupport

/// A stage whose credential comes from a program.
package final class CommandStage {
  package let stage: Stage
  package var path: String { stage.scratch.path }

  package init() throws {
    stage = try Stage()
    try stage.scratch.write("second.token", "SECOND-secret")
  }

  /// A configuration with a credential from this script, and with a second service that needs no command. `HERE` in the
  /// script is replaced by the scratch directory. The script appends its process id to the file `runs`.
  /// - Parameters:
  ///   - arguments: further words of the command, each with a comma before it.
  ///   - options: further keys of `bearer`, each with a comma before it.
  package func configuration(_ script: String, arguments: String = "", options: String = "") throws -> String {
    let text = "#!/bin/sh\necho $$ >> HERE/runs\n\(script)\n".replacing("HERE", with: path)
    let file = try stage.scratch.write("helper", text, mode: 0o700)
    return configuration(command: file + arguments, options: options)
  }

  /// - Parameter command: the words of the command, with commas.
  package func configuration(command: String, options: String = "") -> String {
    stage.configuration(
      credential: """
        bearer: { command: [\(command)]\(options) }
          second:
            origins: ["\(stage.origin)"]
            bearer: { file: second.token }
        """,
      services: """
          other:
            upstream: \(stage.origin)/other/
            ca_file: ca.pem
            credential: second
        """)
  }

  /// Returns the contents of a file that the script has written. Empty if there is none.
  package func notes(_ name: String) -> String {
    let bytes = FileHandle(forReadingAtPath: "\(path)/\(name)")?.readDataToEndOfFile() ?? Data()
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The process ids of all runs of the script.
  package var runs: [Substring] { notes("runs").split(separator: "\n") }
}
