import Foundation

/// A directory of one test's own, gone with it.
final class Scratch {
  let path: String

  init() throws {
    var template = Array((NSTemporaryDirectory() + "bearerd-test-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes whole and at once: a temporary file, renamed.
  @discardableResult
  func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
    let file = path + "/" + name
    let temporary = file + ".new"
    guard FileManager.default.createFile(atPath: temporary, contents: Data(text.utf8)) else {
      throw TestFailure("cannot write \(temporary)")
    }
    chmod(temporary, mode)
    guard rename(temporary, file) == 0 else { throw TestFailure("rename: \(errno)") }
    return file
  }
}

struct TestFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
