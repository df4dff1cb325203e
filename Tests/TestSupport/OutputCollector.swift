package import Foundation

/// Gathers what a process writes to its standard error.
package final class OutputCollector: Sendable {
  /// For the child. Close it here once the child has it.
  package let writing: FileHandle
  private let state = Guarded((text: "", isOver: false))
  private let changed = DispatchSemaphore(value: 0)

  package init() {
    // Close-on-exec from the first moment: a process that another test starts just now would hold it open.
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "no sockets")
    writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let reading = ends[0]
    // A thread of its own: it must come along while all of the test runner's wait.
    Thread.detachNewThread { [self] in collect(reading) }
  }

  private func collect(_ descriptor: Int32) {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &chunk, chunk.count), count != 0 {
      // Signals of other tests end a wait; the writer must not find nobody here.
      if count < 0, errno == EINTR { continue }
      if count < 0 { break }
      state.withLock { $0.text += String(decoding: chunk[..<count], as: UTF8.self) }
      changed.signal()
    }
    close(descriptor)
    state.withLock { $0.isOver = true }
    changed.signal()
  }

  package var text: String { state.withLock { $0.text } }

  package func wait(for condition: @escaping (String) -> Bool) -> Bool {
    let limit = DispatchTime.now() + .seconds(20)
    while true {
      if condition(text) { return true }
      if state.withLock({ $0.isOver }) || changed.wait(timeout: limit) == .timedOut { return condition(text) }
    }
  }

  package func finish() { _ = wait { _ in self.state.withLock { $0.isOver } } }
}
