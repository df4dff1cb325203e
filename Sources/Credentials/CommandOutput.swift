internal import System

/// How a command stands, with a copy of its value, on the way to the keyrings of other threads.
///
/// Unchecked: nothing in it changes after `init`, and its pages are wiped with it.
package final class CommandOutput: @unchecked Sendable {
  package let command: SecretCommand
  /// Locked, if memory can be; nil: there is no value.
  let memory: LockedMemory?
  let count: Int
  let failure: String?
  /// False: nobody uses it any more, or its first run has not ended.
  let isKnown: Bool

  fileprivate init(_ command: SecretCommand, memory: LockedMemory?, count: Int, failure: String?, isKnown: Bool) {
    self.command = command
    self.memory = memory
    self.count = count
    self.failure = failure
    self.isKnown = isKnown
  }

  deinit { memory?.wipe() }

  fileprivate var bytes: UnsafeRawBufferPointer? {
    memory.map { UnsafeRawBufferPointer(rebasing: $0.bytes[..<count]) }
  }
}

extension CommandSecrets {
  /// How this command stands. Without memory for a copy there is none of its value, and that is a failure.
  package func output(of command: SecretCommand) -> CommandOutput {
    guard isKnown(command) else {
      return CommandOutput(command, memory: nil, count: 0, failure: nil, isKnown: false)
    }
    do throws(SystemError) {
      let memory = try copy(of: command)
      return CommandOutput(
        command, memory: memory.pages, count: memory.count, failure: lastFailure(of: command), isKnown: true)
    } catch {
      let problem = SecretProblem(error, reading: SecretSource.command(command).name)
      return CommandOutput(command, memory: nil, count: 0, failure: problem.sentence, isKnown: true)
    }
  }

  /// The same here.
  package func adopt(_ output: CommandOutput) {
    guard output.isKnown else { return forget(output.command) }
    do throws(SystemError) {
      try put(output.bytes, failure: output.failure, of: output.command)
    } catch {
      let problem = SecretProblem(error, reading: SecretSource.command(output.command).name)
      expire(output.command)
      fail(output.command, problem.sentence)
    }
  }
}
