internal import System

/// An open audit file that this process has locked.
package struct AuditFile: Sendable {
  package let path: String
  /// The device number, which identifies the file together with `inode`.
  package let device: UInt64
  package let inode: UInt64
  let file: AppendFile
  let end: AuditTail

  /// Opens or creates the file.
  package init(path: String) throws(AuditFileError) {
    self.path = path
    do throws(SystemError) {
      file = try AppendFile(path: path)
      let status = try file.content.status()
      (device, inode) = (status.device, status.inode)
      guard let end = try AuditTail(of: file.content) else { throw AuditFileError.foreignContent }
      self.end = end
    } catch {
      throw AuditFileError(path: path, error)
    }
  }

  package var isInPlace: Bool { file.isStillAtPath }
}

/// Why a file cannot be used as the audit file.
package struct AuditFileError: Error, CustomStringConvertible, Sendable {
  package let description: String
  /// What the user should do. `nil` if there is no advice.
  package let help: String?
  /// Whether the problem can disappear by itself.
  package let isTransient: Bool

  static let foreignContent = SystemError(
    operation: "it contains something other than audit records of bearerd", errno: 0)

  init(path: String, _ error: SystemError) {
    let reason =
      error.isLockedByAnotherProcess
      ? "another bearerd uses it: each needs its own file" : error.errno == 0 ? error.operation : error.description
    description = "audit file \(path): \(reason)"
    isTransient = error.isTransient
    help =
      if error == AuditFileError.foreignContent {
        "move it away: bearerd then creates a new one, which begins its own chain"
      } else if error.isReadOnlyFileSystem {
        "the systemd unit lets bearerd write in \(AuditInspection.unitDirectory): to add another directory, use ReadWritePaths= in a drop-in"
      } else {
        nil
      }
  }
}
