import Glibc
import Log
import TestSupport

/// A pipe as log output. The test reads it, or leaves it full.
final class LogPipe {
  let sink: LogSink
  private let reading: Int32
  private let writing: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (reading, writing) = (ends[0], ends[1])
    sink = LogSink(to: writing)
  }

  deinit {
    close(reading)
    close(writing)
  }

  func text() -> String {
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(reading, &chunk, chunk.count), count > 0 { all += chunk[..<count] }
    return String(decoding: all, as: UTF8.self)
  }

  func lines() -> [String] { text().split(separator: "\n").map(String.init) }

  func fill() {
    let bytes = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
    while write(writing, bytes, bytes.count) > 0 {}
  }
}
