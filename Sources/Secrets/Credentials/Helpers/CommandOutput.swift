internal import System

/// How a command stands, with a copy of its value, on the way to the keyrings of other threads.
///
/// Unchecked: nothing in it changes after `init`, and its pages are wiped with it.
package final class CommandOutput: @unchecked Sendable {
  package let command: SecretCommand
  /// nil: there is no value.
  fileprivate let copy: HelperAnswer.Copy?
  let failure: String?
  /// False: nobody uses it any more, or the run that everybody waits for has not ended.
  let isKnown: Bool

  fileprivate init(_ command: SecretCommand, copy: HelperAnswer.Copy?, failure: String?, isKnown: Bool) {
    self.command = command
    self.copy = copy
    self.failure = failure
    self.isKnown = isKnown
  }

  deinit { copy?.wipe() }
}

extension CommandSecrets {
  /// How this command stands. Without memory for a copy there is none of its value, and that is a failure.
  package func output(of command: SecretCommand) -> CommandOutput {
    guard isKnown(command) else {
      return CommandOutput(command, copy: nil, failure: nil, isKnown: false)
    }
    do throws(SystemError) {
      return CommandOutput(
        command, copy: try copy(of: command), failure: lastFailure(of: command), isKnown: true)
    } catch {
      let problem = SecretProblem(error, reading: SecretSource.command(command).name)
      return CommandOutput(command, copy: nil, failure: problem.sentence, isKnown: true)
    }
  }

  /// The same here.
  package func adopt(_ output: CommandOutput) {
    guard output.isKnown else { return forget(output.command) }
    do throws(SystemError) {
      try put(output.copy, failure: output.failure, of: output.command)
    } catch {
      let problem = SecretProblem(error, reading: SecretSource.command(output.command).name)
      expire(output.command)
      fail(output.command, problem.sentence)
    }
  }
}
