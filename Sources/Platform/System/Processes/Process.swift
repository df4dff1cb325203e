internal import CLinux
internal import Glibc

/// The environment of this process. Do not read secrets here, because a `String` cannot be wiped.
package enum ProcessEnvironment {
  /// Returns the value of a variable. `nil` if it is unset or empty.
  package static func value(_ name: String) -> String? {
    environment(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether a variable is set, also if its value is empty.
  package static func isSet(_ name: String) -> Bool { getenv(name) != nil }
}

package enum StandardOutput {
  /// Writes to standard output. Blocks until the text is written, or the reader has closed the pipe.
  package static func print(_ text: String) { writeText(text, to: STDOUT_FILENO) }
}

package enum Process {
  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  /// Replaces this process with another program (execvp(3)), which keeps its descriptors and children.
  /// - Parameters:
  ///   - words: the name of the program, which is searched in `PATH`, and its arguments.
  ///   - changes: variables to set, or to remove if the value is `nil`.
  /// - Returns: the error, if the program cannot be started.
  package static func exec(_ words: [String], changes: [(name: String, value: String?)]) -> SystemError {
    for (name, value) in changes {
      if let value { setenv(name, value, 1) } else { unsetenv(name) }
    }
    var arguments = words.map { strdup($0) }
    arguments.append(nil)
    execvp(words[0], arguments)
    let reason = errno
    for argument in arguments { free(argument) }
    return SystemError(operation: words[0], errno: reason)
  }
}

/// Writes a text to a file or terminal. Ignores errors.
func writeText(_ text: String, to descriptor: Int32) {
  let bytes = text.utf8.span
  _ = bytes.withUnsafeBytes { bytes in try? NewFile.write(bytes, to: descriptor) }
}
