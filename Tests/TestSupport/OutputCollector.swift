package import Foundation

/// Gathers what a process writes to its standard error.
package final class OutputCollector: Sendable {
  /// For the child. Close it here once the child has it.
  package let writing: FileHandle
  /// `rest`: The bytes of a character of which only a part has come.
  private let state = Guarded((text: "", rest: [UInt8](), isOver: false))
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
      state.withLock { state in
        let bytes = state.rest + chunk[..<count]
        let end = bytes.count - Self.unfinished(bytes)
        state.text += String(decoding: bytes[..<end], as: UTF8.self)
        state.rest = Array(bytes[end...])
      }
      changed.signal()
    }
    close(descriptor)
    state.withLock { state in
      state.text += String(decoding: state.rest, as: UTF8.self)
      state.isOver = true
    }
    changed.signal()
  }

  /// The number of bytes at the end that begin a UTF-8 sequence and do not complete it.
  private static func unfinished(_ bytes: [UInt8]) -> Int {
    for (offset, byte) in bytes.suffix(3).reversed().enumerated() {
      if byte & 0xC0 == 0x80 { continue }
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return offset + 1 < length ? offset + 1 : 0
    }
    return 0
  }

  package var text: String { state.withLock { $0.text } }

  package func wait(for condition: @escaping (String) -> Bool) -> Bool {
    let limit = DispatchTime.now() + .seconds(Int(20 * patience))
    while true {
      if condition(text) { return true }
      if state.withLock({ $0.isOver }) || changed.wait(timeout: limit) == .timedOut { return condition(text) }
    }
  }

  package func finish() { _ = wait { _ in self.state.withLock { $0.isOver } } }
}
