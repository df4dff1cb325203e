internal import Glibc

/// Checks that only root and the current user can change a program (T42).
package enum ProgramFile {
  /// Returns why the program must not be run, in one sentence. `nil` if it may be run.
  package static func problem(of path: String) -> String? {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { return "\(path) is not an absolute path" }
    let walk = FileWalk(path)
    if let problem = walk.problem { return "\(problem.message): \(problem.help)" }
    guard let status = walk.status else {
      return switch walk.failure?.error.errno {
      case EACCES: "\(path) cannot be seen by uid \(Users.currentUID)"
      case ELOOP: "\(path): too many symbolic links"
      default: "\(path) does not exist"
      }
    }
    guard status.isRegular else { return "\(path) is not a regular file" }
    if !walk.mount.isReadOnly {
      guard status.owner == 0 || status.owner == Users.currentUID else {
        return "\(path) belongs to uid \(status.owner), who could change the program: chown root \(path)"
      }
      guard status.mode & 0o022 == 0 else {
        return "other users can write \(path), and could change the program: chmod go-w \(path)"
      }
    }
    return access(path, X_OK) == 0 ? nil : "\(path) cannot be executed by uid \(Users.currentUID)"
  }
}
