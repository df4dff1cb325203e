package import Settings
package import System

/// A command whose program no other user could have changed at the time of the check.
package struct CheckedCommand: Sendable {
  package let command: SecretCommand

  package init(_ command: SecretCommand) throws(CommandFailure) {
    if let problem = ProgramFile.problem(of: command.path) { throw CommandFailure(problem) }
    self.command = command
  }

  /// Starts the program. Throws if the program cannot be started, or if bearerd lacks a variable that the program gets.
  package func run(_ request: borrowing HelperRequest, mustLock: Bool) throws(CommandFailure) -> HelperProcess {
    if let problem = command.missingVariables { throw CommandFailure(problem) }
    do throws(SystemError) { return try request.start(mustLock: mustLock) } catch {
      throw CommandFailure("\(command.path) cannot be started: \(error)")
    }
  }
}

extension SecretCommand {
  /// Returns an error message without any byte of the output; `nil` if the run succeeded.
  /// - Parameter errorCount: number of bytes that the program wrote to its standard error.
  package func failure(_ end: HelperProcess.Termination, errorCount: Int) -> String? {
    let errorNote =
      switch errorCount {
      case 0: ""
      case 1: ", and wrote 1 byte to its standard error, which is not shown"
      default: ", and wrote \(errorCount) bytes to its standard error, which are not shown"
      }
    return switch end {
    case .status(0): nil
    case .status(let status) where status == 126 || status == 127:
      "\(path) ended with status \(status): the program, or a program that it runs, cannot be started\(errorNote)"
    case .status(let status): "\(path) ended with status \(status)\(errorNote)"
    case .signal(let signal): "\(path) was ended by signal \(signal)\(errorNote)"
    }
  }

  /// An error message if bearerd's environment lacks a variable that the program gets, otherwise `nil`.
  package var missingVariables: String? {
    let missing = passedVariables.filter { !ProcessEnvironment.isSet($0) }
    guard let first = missing.first else { return nil }
    let names = missing.joined(separator: " ")
    let (verb, pronoun) = missing.count == 1 ? ("is", "it") : ("are", "them")
    return
      "\(path) was not started: \(missing.joined(separator: ", ")) \(verb) not set in the environment of bearerd. To set"
      + " \(pronoun) for your own service, run \"systemctl --user import-environment \(names)\" and restart bearerd. For the"
      + " system service, add Environment=\(first)=VALUE or PassEnvironment=\(first) to the unit"
  }

  package var tooSlow: String { "\(path) did not finish within \(time), and was killed" }
  package var rejectedAgain: String {
    "the upstream rejected the output of \(path) again: bearerd runs the program again later"
  }
  package var tooSlowToCheck: String { "\(path) cannot be started: its file system has not responded for \(time)" }
  private var time: String { timeout % 1000 == 0 ? "\(timeout / 1000) s" : "\(timeout) ms" }
  package var tooMuchOutput: String {
    "\(path) printed more than 64 KiB, which is too much for a secret, and was killed"
  }
  package var tooManyErrors: String { "\(path) wrote more than 1 MiB to its standard error, and was killed" }
}

package struct CommandFailure: Error {
  package let sentence: String

  package init(_ sentence: String) { self.sentence = sentence }
}
