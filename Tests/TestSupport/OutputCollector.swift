package import Foundation

/// Collects the output of a process.
package final class OutputCollector: Sendable {
  /// For the child. Close it here once the child has it.
  package let writing: FileHandle
  /// `rest` has the bytes of an incomplete character.
  private let state = Guarded((text: "", rest: [UInt8](), isOver: false))
  private let changed = DispatchSemaphore(value: 0)

  package init() {
    // Close-on-exec from the start: otherwise a process of another test could inherit the socket.
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "no sockets")
    writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let reading = ends[0]
    // Needs its own thread: all threads of the test runner may be waiting.
    Thread.detachNewThread { [self] in collect(reading) }
  }

  private func collect(_ descriptor: Int32) {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &chunk, chunk.count), count != 0 {
      // A signal of another test can interrupt the read.
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

  /// Returns the number of trailing bytes that are an incomplete UTF-8 sequence.
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
