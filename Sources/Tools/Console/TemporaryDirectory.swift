internal import Glibc
internal import System

/// A temporary directory that only its owner can access. Removed together with this object.
package final class TemporaryDirectory {
  package let path: String

  package init() throws {
    let wanted = ProcessEnvironment.value("TMPDIR") ?? "/tmp"
    let base = wanted.utf8.count > Self.longestBase ? "/tmp" : wanted
    var template = Array("\(base)/bearerd-demo-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      let reason = String(cString: strerror(errno))
      let whose =
        base == wanted && ProcessEnvironment.value("TMPDIR") != nil ? "TMPDIR" : "TMPDIR is not set or too long"
      throw Failure(
        Failure.system,
        "no temporary directory can be created in \(base.harmless) (\(whose)): \(reason). Set TMPDIR to a directory that you can write to, with a path of at most \(Self.longestBase) bytes"
      )
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Maximum length of the parent directory's path in bytes.
  private static let longestBase = 107 - 20 - 19  // 20 for `/bearerd-demo-XXXXXX`, 19 for `/` and the socket's name

  deinit { remove() }

  /// Writes a file that only its owner can read.
  package func write(_ name: String, _ text: String) throws {
    let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(operation: "open \(name)", errno: errno) }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw SystemError(operation: "write \(name)", errno: errno)
    }
  }

  package func remove() {
    guard let directory = opendir(path) else { return }
    var names: [String] = []
    while let entry = readdir(directory) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    closedir(directory)
    for name in names where name != "." && name != ".." { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}
