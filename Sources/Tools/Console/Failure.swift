internal import Glibc

/// An error that ends a command with an exit status.
package struct Failure: Error {
  package static let no = ExitStatus.no.rawValue
  package static let usage = ExitStatus.usage.rawValue
  package static let noInput = ExitStatus.noInput.rawValue
  package static let noHost = ExitStatus.noHost.rawValue
  package static let unavailable = ExitStatus.unavailable.rawValue
  package static let system = ExitStatus.system.rawValue

  package let code: Int32
  /// The message for standard error. Empty if a message was already printed.
  package let message: String

  package init(_ code: Int32, _ message: String = "") {
    self.code = code
    self.message = message
  }
}

package struct Interruption: Error {
  package let signal: Int32
  /// The signals that end a command.
  package static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE]
}

/// An exit status of `bearerctl` or `bearerd`.
package enum ExitStatus: Int32, CaseIterable {
  case success = 0
  case no = 1
  case usage = 2
  case noInput = 66
  case noHost = 68
  case unavailable = 69
  case system = 71

  /// The meaning for `bearerctl`.
  package var meaning: StaticString {
    switch self {
    case .success: "Success."
    case .no:
      """
      The command ran, and the result is negative: the request would be refused, a reload failed, an attack succeeded, \
      or a record was changed.
      """
    case .usage: "The command line is wrong, or the configuration cannot be used."
    case .noInput: "A file cannot be read."
    case .noHost: "The host name was not found."
    case .unavailable: "No daemon answers, or the server cannot be reached."
    case .system: "The system refused something, such as a new file or process."
    }
  }

  /// The meaning for `bearerd`. `nil` if the daemon never exits with this status.
  package var meaningForDaemon: StaticString? {
    switch self {
    case .success: "The daemon was stopped."
    case .usage: "The command line is wrong, or the configuration cannot be used. You have to change something first."
    case .system: "The system refused something, such as an address that is in use. A later start may succeed."
    case .no, .noInput, .noHost, .unavailable: nil
    }
  }
}
