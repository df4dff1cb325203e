package import Settings
package import System

/// The most recent values of helper programs (T42).
package final class CommandValues: SourceValues<SecretCommand> {
  override func name(of command: SecretCommand) -> String { SecretSource.command(command).name }

  override func missingValueProblem(of command: SecretCommand, isKnown: Bool) -> SecretProblem {
    SecretProblem(
      isKnown ? "\(name(of: command)) has expired" : "\(command.path) is still running", isMissing: true)
  }

  /// Whether the command's first run, or the first run after a rejection, has not ended yet.
  package func isPending(_ command: SecretCommand) -> Bool { !isKnown(command) }

  /// Replaces the command's value with the output of a finished run. Returns `false`, and keeps the value, if the
  /// output is unusable.
  /// - Parameters:
  ///   - read: parses the output. Throws if it is unusable.
  package func store(
    _ command: SecretCommand, from process: HelperProcess,
    read: (UnsafeRawBufferPointer, SecretArena) throws(SecretProblem) -> SourceValue
  ) -> Bool {
    recordLocking(process.isLocked)
    do throws(SecretProblem) {
      put(try process.withOutput { (bytes) throws(SecretProblem) in try read(bytes, arena) }, command)
      return true
    } catch {
      fail(command, error.sentence)
      return false
    }
  }

  /// Records a run that gave no value. The current value stays.
  package override func fail(_ command: SecretCommand, _ sentence: String) {
    super.fail(command, sentence)
    guard let entry = entry(command) else { return }
    if entry.problem != nil { entry.problem = SecretProblem(sentence, isMissing: true) }
    entry.isPending = false
  }

  /// Records that an upstream rejected the value. Requests wait until the next run of the command.
  package func recordRejection(_ command: SecretCommand) {
    // The rejected value is kept, to recognize it if the next run prints it again.
    let entry = findOrCreateEntry(command)
    let rejected = "the upstream rejected \(name(of: command)): bearerd runs the program again"
    entry.problem = SecretProblem(entry.failure ?? rejected, isMissing: true)
    entry.isPending = true
  }

  /// Returns the expiry that the command printed, in seconds since 1970; `nil` if it printed none.
  package func expiry(of command: SecretCommand) -> Int64? {
    entry(command)?.value.withValue { $0.expiry } ?? nil
  }

  package func request(_ verb: HelperRequest.Verb, of command: SecretCommand) throws(CommandFailure) -> HelperRequest {
    do throws(SystemError) {
      var request = try HelperRequest(verb, of: command, in: arena)
      guard verb != .get, let entry = entry(command) else { return request }
      try entry.value.withValue { (value) throws(SystemError) in try request.add(value) }
      return request
    } catch {
      throw CommandFailure("\(command.path) cannot be started: \(error)")
    }
  }
}
