package import Foundation

/// A temporary directory of one test. Removed with this object.
package final class Scratch {
  package let path: String

  package init() throws {
    var template = Array((NSTemporaryDirectory() + "bearerd-test-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file atomically, by renaming a temporary file. Creates missing directories.
  @discardableResult
  package func write(_ name: String, _ bytes: some Collection<UInt8>, mode: mode_t = 0o600) throws -> String {
    let file = path + "/" + name
    let directory = (file as NSString).deletingLastPathComponent
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let temporary = file + ".new"
    guard FileManager.default.createFile(atPath: temporary, contents: Data(bytes)) else {
      throw TestFailure("cannot write \(temporary)")
    }
    chmod(temporary, mode)
    if mode & 0o111 != 0 { waitUntilNoWriterIsLeft(temporary) }
    guard rename(temporary, file) == 0 else { throw TestFailure("rename: \(errno)") }
    return file
  }

  /// A child that another thread has just forked keeps our descriptor until it executes its program. Linux does not run
  /// a file that is open for writing (ETXTBSY), and grants a read lease when no writer is left.
  private func waitUntilNoWriterIsLeft(_ file: String) {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    // F_SETLEASE, which the Glibc module does not have.
    while fcntl(descriptor, 1024, Int32(F_RDLCK)) != 0 && errno == EAGAIN { usleep(1000) }
  }

  @discardableResult
  package func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
    try write(name, text.utf8, mode: mode)
  }
}

package struct TestFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
