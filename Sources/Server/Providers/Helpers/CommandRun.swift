internal import EventLoop
internal import Secrets
internal import System

/// One run of a command. Holds itself until its process has been reaped, which may be after its result is known.
final class CommandRun {
  enum Result {
    /// The program has ended well: its output can be taken from the process.
    case printed(HelperProcess)
    case failed(String)
  }

  private let command: SecretCommand
  private let process: HelperProcess
  private var output: ReadableSource?
  private var errors: ReadableSource?
  private var exit: ReadableSource?
  private var onResult: ((Result) -> Void)?

  /// As much as anybody reads of a program's complaints.
  private static let mostErrors = 1 << 20

  /// `onResult` is called once, never from here.
  init(
    _ checked: CheckedCommand, _ request: borrowing HelperRequest, mustLock: Bool, loop: Loop,
    onResult: @escaping (Result) -> Void
  ) throws(CommandFailure) {
    command = checked.command
    process = try checked.run(request, mustLock: mustLock)
    self.onResult = onResult
    do throws(UVError) {
      output = try ReadableSource(loop: loop, descriptor: process.output) { self.readOutput() }
      errors = try ReadableSource(loop: loop, descriptor: process.errors) { self.readErrors() }
      exit = try ReadableSource(loop: loop, descriptor: process.exit) { self.exited() }
    } catch {
      closeAll()
      throw CommandFailure("\(command.path) cannot be watched: \(error)")
    }
  }

  /// Its time is over.
  func timeOut() { give(up: command.tooSlow) }

  /// Its result is not wanted any more.
  func cancel() {
    onResult = nil
    process.kill()
  }

  /// The loop ends: nothing is heard of it any more.
  func close() {
    cancel()
    closeAll()
  }

  private func give(up sentence: String) {
    process.kill()
    finish(.failed(sentence))
  }

  private func readOutput() {
    do throws(SystemError) {
      switch try process.readOutput() {
      case .more: break
      case .complete: closeOutput()
      case .tooMuch: give(up: command.tooMuchOutput)
      }
    } catch {
      give(up: "the output of \(command.path) cannot be read: \(error)")
    }
  }

  private func readErrors() {
    if !process.discardErrors() { closeErrors() }
    if process.errorCount > Self.mostErrors { give(up: command.tooManyErrors) }
  }

  /// Whatever else may still hold the pipes: what it had to say is in them now.
  private func exited() {
    guard let end = process.end() else { return }
    if output != nil { readOutput() }
    if errors != nil { readErrors() }
    closeAll()
    if let failure = command.failure(end, errorCount: process.errorCount) {
      finish(.failed(failure))
    } else {
      finish(.printed(process))
    }
  }

  private func finish(_ result: Result) {
    closeOutput()
    closeErrors()
    let onResult = onResult
    self.onResult = nil
    onResult?(result)
  }

  private func closeOutput() {
    output?.close()
    output = nil
  }

  private func closeErrors() {
    errors?.close()
    errors = nil
  }

  private func closeAll() {
    closeOutput()
    closeErrors()
    exit?.close()
    exit = nil
  }
}
