internal import CLinux

/// Sockets of another user: the kernel takes their owner from a thread's file-system uid (setfsuid(2)). Root only.
package enum FileSystemUser {
  /// The uid that a user namespace shows for users whom it does not know.
  package static let overflow: UInt32 = 65_534

  /// Files that this thread makes while `body` runs belong to `uid`.
  package static func during<Result>(_ uid: UInt32, _ body: () throws -> Result) rethrows -> Result {
    bearerd_become_file_system_user(uid)
    defer { bearerd_become_file_system_user(Users.currentUID) }
    return try body()
  }
}
