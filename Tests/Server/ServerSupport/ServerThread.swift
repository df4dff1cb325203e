import Daemon
import EventLoop
import Foundation
import Log
import Proxy
import Configuration
import StatusModel
package import System
package import TestSupport

/// The whole server on a thread of this process: `bearerd` without its `main`, hardening and signals.
package final class ServerThread: TestedDaemon {
  package let file: String
  package let log: DaemonLog
  private let state = State()

  /// The state that the server's thread and the test share.
  private final class State: Sendable {
    let messages = Guarded<[@Sendable (Server) -> Void]>([])
    let wakeup = Guarded<Wakeup?>(nil)
    let problem = Guarded<String?>(nil)
    let isOver = Guarded(false)
    let hasBegun = Gate()
    let hasEnded = Gate()

    func post(_ message: @escaping @Sendable (Server) -> Void) {
      messages.withLock { $0.append(message) }
      wakeup.withLock { $0 }?.wake()
    }

    func serve(_ file: String, inherited: [InheritedSocket], log: FileHandle) throws {
      let server = try Server(file: file, inherited: InheritedSockets(inherited), sink: LogSink(to: log.fileDescriptor))
      let bell = try Wakeup(loop: server.loop) { [self, unowned server] in
        let all = messages.withLock { messages in
          defer { messages = [] }
          return messages
        }
        for message in all { message(server) }
      }
      wakeup.withLock { $0 = bell }
      defer {
        bell.close()
        // Closed handles are freed on the loop's next turn, and the loop after them.
        for _ in 0..<3 { server.loop.runOnce(waiting: false) }
      }
      try server.begin()
      hasBegun.open()
      server.serve()
    }
  }

  /// Starts the server and waits until it is ready.
  /// - Parameter inherited: Sockets from a service manager. The server closes them.
  package init(configuration file: String, inherited: [InheritedSocket] = []) throws {
    self.file = file
    let log = DaemonLog()
    self.log = log
    let thread = Thread { [state] in
      do { try state.serve(file, inherited: inherited, log: log.writing) } catch {
        state.problem.withLock { $0 = "\(error)" }
      }
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

  /// Returns the error and exit status of a start that fails.
  package static func failure(_ file: String, inherited: [InheritedSocket]) -> CommandResult {
    let sockets = InheritedSockets(inherited)
    let log = DaemonLog()
    defer { try? log.writing.close() }
    var result = CommandResult(status: 124, output: "", errors: "it has started")
    do throws(StartError) {
      let server = try Server(file: file, inherited: sockets, sink: LogSink(to: log.writing.fileDescriptor))
      try server.begin()
      for _ in 0..<2 { server.stop() }
      server.serve()
      for _ in 0..<3 { server.loop.runOnce(waiting: false) }
    } catch {
      switch error {
      case .configuration:
        sockets.closeWaiting()
        result = CommandResult(status: 2, output: "", errors: "\(error)\n")
      case .system: result = CommandResult(status: 71, output: "", errors: "bearerd: \(error)\n")
      }
    }
    return result
  }

  deinit {
    // The second stop aborts requests in progress.
    beginStop()
    beginStop()
    state.hasEnded.pass(seconds: 60)
  }

  package var isRunning: Bool { !state.isOver.withLock { $0 } }
  package func beginReload() { state.post { $0.reload() } }
  package func beginStop() { state.post { $0.stop() } }

  package func waitForExit() -> Int32 {
    guard state.hasEnded.pass(seconds: 60) else { return -1 }
    state.hasEnded.open()
    log.finish()
    return state.problem.withLock { $0 } == nil ? 0 : 71
  }
}
