import Daemon
import EventLoop
import Foundation
import Log
import Proxy
import Configuration
package import System
package import TestSupport

/// The whole server on a thread of this process: what `bearerd` is but for its `main`, its hardening, and signals.
package final class ServerThread: TestedDaemon {
  package let file: String
  package let log: DaemonLog
  private let state = State()

  /// What its thread and the test have in common.
  private final class State: Sendable {
    let errands = Guarded<[@Sendable (Server) -> Void]>([])
    let wakeup = Guarded<Wakeup?>(nil)
    let problem = Guarded<String?>(nil)
    let isOver = Guarded(false)
    let hasBegun = Gate()
    let hasEnded = Gate()

    func tell(_ errand: @escaping @Sendable (Server) -> Void) {
      errands.withLock { $0.append(errand) }
      wakeup.withLock { $0 }?.wake()
    }

    /// Its thread's life. `log` is closed at its end.
    func serve(_ file: String, held: [InheritedSocket], log: FileHandle) throws {
      let server = try Server(file: file, held: InheritedSockets(held), sink: LogSink(to: log.fileDescriptor))
      let bell = try Wakeup(loop: server.loop) { [self, unowned server] in
        let all = errands.withLock { errands in
          defer { errands = [] }
          return errands
        }
        for errand in all { errand(server) }
      }
      wakeup.withLock { $0 = bell }
      defer {
        bell.close()
        // What has been closed goes on the loop's next turn, and the loop itself once nothing is left on it.
        for _ in 0..<3 { server.loop.runOnce(waiting: false) }
      }
      try server.begin()
      hasBegun.open()
      server.serve()
    }
  }

  /// Starts it and waits until it serves.
  /// - Parameter held: sockets that a service manager has passed, to be closed here.
  package init(configuration file: String, held: [InheritedSocket] = []) throws {
    self.file = file
    let log = DaemonLog()
    self.log = log
    let thread = Thread { [state] in
      do { try state.serve(file, held: held, log: log.writing) } catch { state.problem.withLock { $0 = "\(error)" } }
      try? log.writing.close()
      state.isOver.withLock { $0 = true }
      state.hasBegun.open()
      state.hasEnded.open()
    }
    thread.stackSize = 8 << 20
    thread.start()
    guard state.hasBegun.pass(seconds: 60), log.wait(for: .ready) else {
      throw TestFailure("bearerd did not start:\n\(log)\n\(state.problem.withLock { $0 } ?? "")")
    }
  }

  /// What `bearerd` would say of a start that fails, and its exit status.
  package static func failure(_ file: String, held: [InheritedSocket]) -> CommandResult {
    let inherited = InheritedSockets(held)
    let log = DaemonLog()
    defer { try? log.writing.close() }
    var result = CommandResult(status: 124, output: "", errors: "it has started")
    do throws(StartError) {
      let server = try Server(file: file, held: inherited, sink: LogSink(to: log.writing.fileDescriptor))
      try server.begin()
      for _ in 0..<2 { server.stop() }
      server.serve()
      for _ in 0..<3 { server.loop.runOnce(waiting: false) }
    } catch {
      switch error {
      case .configuration:
        inherited.closeWaiting()
        result = CommandResult(status: 2, output: "", errors: "\(error)\n")
      case .system: result = CommandResult(status: 71, output: "", errors: "bearerd: \(error)\n")
      }
    }
    return result
  }

  deinit {
    // The second one does not wait for what is under way.
    beginStop()
    beginStop()
    state.hasEnded.pass(seconds: 60)
  }

  package var isRunning: Bool { !state.isOver.withLock { $0 } }
  package func beginReload() { state.tell { $0.reload() } }
  package func beginStop() { state.tell { $0.stop() } }

  package func waitForExit() -> Int32 {
    guard state.hasEnded.pass(seconds: 60) else { return -1 }
    state.hasEnded.open()
    log.finish()
    return state.problem.withLock { $0 } == nil ? 0 : 71
  }
}
