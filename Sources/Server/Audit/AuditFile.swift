internal import System

/// An audit file, held by us alone, and where its chain goes on.
package struct AuditFile: Sendable {
  package let path: String
  /// Device and inode: whether it is the file that others see under its path.
  package let device: UInt64
  package let inode: UInt64
  let file: AppendFile
  let end: AuditTail

  /// Opens it, or makes it.
  package init(path: String) throws(AuditFileError) {
    self.path = path
    do throws(SystemError) {
      file = try AppendFile(path: path)
      let status = try file.content.status()
      (device, inode) = (status.device, status.inode)
      guard let end = try AuditTail(of: file.content) else { throw AuditFileError.strange }
      self.end = end
    } catch {
      throw AuditFileError(path: path, error)
    }
  }

  /// Whether its path still leads to it: it may have been renamed, to begin another one.
  package var isInPlace: Bool { file.isInPlace }
}

/// Why a file cannot be the audit file.
package struct AuditFileError: Error, CustomStringConvertible, Sendable {
  package let description: String
  /// Advice on what to do about it.
  package let help: String?
  /// The problem may be over by itself.
  package let isPassing: Bool

  static let strange = SystemError(operation: "it contains something other than audit records of bearerd", errno: 0)

  init(path: String, _ error: SystemError) {
    description = "audit file \(path): " + error.reason
    isPassing = error.isPassing
    help =
      if error == AuditFileError.strange {
        "move it away: bearerd then creates a new one, which begins its own chain"
      } else if error.isOfReadOnlySystem {
        "the systemd unit lets bearerd write in \(AuditInspection.unitDirectory): to add another directory, use ReadWritePaths= in a drop-in"
      } else {
        nil
      }
  }
}

extension SystemError {
  fileprivate var reason: String {
    if isHeldByAnother { return "another bearerd uses it: each needs its own file" }
    return errno == 0 ? operation : description
  }
}
