package import System

/// The values that commands have printed (T42).
package final class CommandValues: SourceValues<SecretCommand> {
  override func name(of command: SecretCommand) -> String { SecretSource.command(command).name }

  override func absence(of command: SecretCommand, isKnown: Bool) -> SecretProblem {
    SecretProblem(
      isKnown ? "\(name(of: command)) has expired" : "\(command.path) is still running", isMissing: true)
  }

  /// Whether its first run, or the first one after a rejection, has not ended yet.
  package func isAwaited(_ command: SecretCommand) -> Bool { !isKnown(command) }

  /// Takes what a run has printed in the place of what is there.
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - check: whether it is fit for what it is used for.
  /// - Returns: false if it is unusable: what is there stays.
  package func take(
    _ command: SecretCommand, from process: HelperProcess, now: Int64,
    check: (borrowing SourceValue) throws(SecretProblem) -> Void
  ) -> Bool {
    recordLocking(process.isLocked)
    do throws(SecretProblem) {
      let reader = HelperAnswerReader(command: command, arena: arena, now: now)
      let answer = try process.withOutput { (bytes) throws(SecretProblem) in try reader.read(bytes) }
      try check(answer)
      put(answer, command)
      return true
    } catch {
      fail(command, error.sentence)
      return false
    }
  }

  /// A run gave nothing: what is there stays as it stands, but its requests wait no longer.
  package override func fail(_ command: SecretCommand, _ sentence: String) {
    super.fail(command, sentence)
    guard let entry = entry(command) else { return }
    if entry.problem != nil { entry.problem = SecretProblem(sentence, isMissing: true) }
    entry.isAwaited = false
  }

  /// An upstream has rejected its value, and the next run follows at once. The value is kept to know whether it comes again.
  package func await(_ command: SecretCommand) {
    let entry = madeEntry(command)
    let rejected = "the upstream rejected \(name(of: command)): bearerd runs the program again"
    entry.problem = SecretProblem(entry.failure ?? rejected, isMissing: true)
    entry.isAwaited = true
  }

  /// Until when its answer says that it counts, in seconds since 1970; nil: it does not say, or there is none.
  package func expiry(of command: SecretCommand) -> Int64? {
    guard let entry = entry(command) else { return nil }
    switch entry.value {
    case .some(let answer): return answer.expiry
    case .none: return nil
    }
  }

  /// The request to start a command's program with.
  package func request(_ verb: HelperRequest.Verb, of command: SecretCommand) throws(CommandFailure) -> HelperRequest {
    do throws(SystemError) {
      var request = try HelperRequest(verb, of: command, in: arena)
      guard verb != .get, let entry = entry(command) else { return request }
      switch entry.value {
      case .none: break
      case .some(let answer): try request.add(answer)
      }
      return request
    } catch {
      throw CommandFailure("\(command.path) cannot be started: \(error)")
    }
  }
}
