internal import CLinux
internal import Glibc

/// Why no unix socket can be made at a path, and what to do about it.
package struct UnixSocketProblem: Error, Sendable {
  package let message: String
  package let help: String
  /// The problem may be over by itself: who listens there ends, or the directory is made.
  package let isPassing: Bool

  /// The unit makes it when it starts (RuntimeDirectory=).
  package static let unitDirectory = "/run/bearerd"

  package init(path: String, _ error: SystemError) {
    message = "bearerd cannot create the socket \(path): \(error)"
    isPassing = error.isPassing && error.errno != EEXIST || error.isOfMissing
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
  /// The place of a socket as a start would find it, as far as the user who looks may see. Whether a process listens there
  /// is not looked at.
  package struct Outlook: Sendable {
    /// Why a start would fail.
    package let problem: UnixSocketProblem?
    /// How far we could not look, and why.
    package let unseen: String?
    /// The only user who can make it; nil: that cannot be seen.
    package let maker: UInt32?

    package init(path: String) {
      let place = PlaceOutlook(path: path, isReplaced: true) { (status, maker) throws(SystemError) in
        try UnixSocket.judge(status, of: maker)
        // A socket that was left there is taken away first.
        try PlaceOutlook.checkMaking(path, by: maker)
      }
      maker = place.maker
      switch place.verdict {
      // The user who asks may be another one than the one it is for.
      case .fit, .onlyForRoot: (problem, unseen) = (nil, nil)
      case .unfit(let error) where error.isOfMissing && error.operation == UnixSocketProblem.unitDirectory:
        (problem, unseen) = (nil, "the systemd unit creates \(error.operation) when it starts")
      case .unfit(let error): (problem, unseen) = (UnixSocketProblem(path: path, error), nil)
      case .unseen(let error): (problem, unseen) = (nil, error.description)
      }
    }
  }
}
