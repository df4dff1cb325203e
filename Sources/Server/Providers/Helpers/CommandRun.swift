internal import EventLoop
internal import Secrets
internal import Settings
internal import System

/// One run of a command. Keeps itself alive until its process has ended.
final class CommandRun {
  enum Result {
    /// The program has succeeded. The process contains the program's output.
    case printed(HelperProcess)
    case failed(String)
  }

  private let command: SecretCommand
  private let process: HelperProcess
  private var output: ReadableSource?
  private var errors: ReadableSource?
  private var exit: ReadableSource?
  private var onResult: ((Result) -> Void)?

  /// Maximum number of bytes on the program's standard error.
  private static let maxErrorBytes = 1 << 20

  /// Starts the program. Calls `onResult` once, never within this call.
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

  func timeOut() { fail(command.tooSlow) }

  /// Kills the process. `onResult` is not called.
  func cancel() {
    onResult = nil
    process.kill()
  }

  func close() {
    cancel()
    closeAll()
  }

  private func fail(_ sentence: String) {
    process.kill()
    finish(.failed(sentence))
  }

  private func readOutput() {
    do throws(SystemError) {
      switch try process.readOutput() {
      case .more: break
      case .complete: closeOutput()
      case .tooMuch: fail(command.tooMuchOutput)
      }
    } catch {
      fail("the output of \(command.path) cannot be read: \(error)")
    }
  }

  private func readErrors() {
    if !process.discardErrors() { closeErrors() }
    if process.errorCount > Self.maxErrorBytes { fail(command.tooManyErrors) }
  }

  /// Reads the rest of the output and finishes the run, after the program has exited.
  private func exited() {
    guard let end = process.termination() else { return }
    if output != nil { readOutput() }
    if errors != nil { readErrors() }
    closeAll()
    finish(command.failure(end, errorCount: process.errorCount).map { .failed($0) } ?? .printed(process))
  }

  private func finish(_ result: Result) {
    closeOutput()
    closeErrors()
    onResult.take()?(result)
  }

  private func closeOutput() { output.take()?.close() }

  private func closeErrors() { errors.take()?.close() }

  private func closeAll() {
    closeOutput()
    closeErrors()
    exit.take()?.close()
  }
}
