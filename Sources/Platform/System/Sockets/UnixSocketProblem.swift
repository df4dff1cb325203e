internal import CLinux
internal import Glibc

/// Why a Unix socket cannot be created at a path, and what the user should do.
package struct UnixSocketProblem: Error, Sendable {
  package let message: String
  package let help: String
  /// Whether a retry may succeed.
  package let isTransient: Bool

  /// The directory that the systemd unit creates when it starts (RuntimeDirectory=).
  package static let unitDirectory = "/run/bearerd"

  package init(path: String, _ error: SystemError) {
    message = "bearerd cannot create the socket \(path): \(error)"
    isTransient = error.isTransient && error.errno != EEXIST || error.isNotFound
    help =
      switch error.errno {
      case EEXIST:
        "bearerd replaces only its own old socket. Rename or remove what has this name, or write another path"
      case EADDRINUSE: "stop that program, which may be another bearerd, or write another path"
      case ENOENT: "create the directory, and let only the user of bearerd write to it"
      case ELOOP, ENOTDIR: "write the path of the directory itself"
      case EROFS, EACCES:
        "the systemd unit lets bearerd create sockets in \(Self.unitDirectory). If you run the daemon yourself, write a path in a directory of your own"
      default:
        "each directory on the path must belong to root or to the user of bearerd, and other users must not be able to write the last directory, because they could replace the socket. \(Self.unitDirectory) is such a directory"
      }
  }
}

extension UnixSocket {
  /// Checks whether the daemon could create a socket at a path, as far as the current user can see.
  package struct Check: Sendable {
    /// Why the daemon would fail to start. `nil` if no problem was found.
    package let problem: UnixSocketProblem?
    /// What could not be checked, and why. `nil` if the check is complete.
    package let uncheckedReason: String?
    /// The uid of the only user who can create the socket. `nil` if unknown.
    package let creator: UInt32?

    package init(path: String) {
      let pathCheck = PathCheck(path: path, isReplaced: true) { (status, creator) throws(SystemError) in
        try UnixSocket.validate(status, of: creator)
        // An old socket is removed first.
        try PathCheck.checkCreation(path, by: creator)
      }
      creator = pathCheck.creator
      switch pathCheck.verdict {
      // The current user can be different from the user who runs the daemon.
      case .usable, .onlyForRoot: (problem, uncheckedReason) = (nil, nil)
      case .unusable(let error) where error.isNotFound && error.operation == UnixSocketProblem.unitDirectory:
        (problem, uncheckedReason) = (nil, "the systemd unit creates \(error.operation) when it starts")
      case .unusable(let error): (problem, uncheckedReason) = (UnixSocketProblem(path: path, error), nil)
      case .unknown(let error): (problem, uncheckedReason) = (nil, error.description)
      }
    }
  }
}
