// One file per idea in the end: ProcessHardening, LockedMemory, CallerIdentity, DirectoryWatch, FileCheck, UnixSocket, ServiceManager.

package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  package let errno: Int32
  /// `mlock: Cannot allocate memory`
  package var description: String { fatalError() }
}

package enum ProcessHardening {
  /// First thing in `main`: fatal signals back to SIG_DFL (Swift's crash backtracer prints memory), PR_SET_DUMPABLE 0, RLIMIT_CORE 0, SIGPIPE ignored, umask 077.
  package static func apply() { fatalError() }
}

/// Pages that are locked, left out of core dumps, wiped on fork; zeroed when freed. Page granular: use few.
package final class LockedMemory {
  package let bytes: UnsafeMutableRawBufferPointer
  /// False when the system refused to lock (RLIMIT_MEMLOCK).
  package let isLocked: Bool
  package init(byteCount: Int) throws(SystemError) { fatalError() }
  package func wipe() { fatalError() }
}

package enum CallerIdentity {
  /// The uid behind a connected unix socket (SO_PEERCRED).
  package static func ofPeer(descriptor: Int32) -> UInt32? { fatalError() }
}

/// NETLINK_SOCK_DIAG: who owns the other end of a loopback TCP connection. One socket, kept open; non-blocking for nobody: it answers in microseconds.
package final class SocketDiagnostics {
  package init() throws(SystemError) { fatalError() }
  /// nil on any doubt: not found, inode 0, a state other than ESTABLISHED, FIN_WAIT1/2 (and CLOSE_WAIT?), more than one answer.
  /// `client` is the caller's own address as we see it (peer), `server` the local one; each 4 or 16 bytes.
  package func owner(clientIP: [UInt8], clientPort: UInt16, serverIP: [UInt8], serverPort: UInt16) -> UInt32? { fatalError() }
}

/// inotify on directories: CLOSE_WRITE | MOVED_TO (and the directory's own disappearance), so that renames and `..data` symlink swaps are seen and half-written files are not.
package final class DirectoryWatch {
  package init() throws(SystemError) { fatalError() }
  package var descriptor: Int32 { fatalError() }
  /// Watching a directory twice is one watch.
  package func add(directory: String) throws(SystemError) { fatalError() }
  package func removeAll() { fatalError() }
  /// Directories in which something changed since the last call, and the names that did.
  package func changes() -> [(directory: String, name: String)] { fatalError() }
}

package struct FileStatus: Sendable, Equatable {
  package let owner: UInt32
  package let group: UInt32
  package let mode: UInt32
  package let isRegular: Bool
  package let size: Int64
  package let modified: Int64
  /// nil: does not exist or cannot be asked; see errno in the error of `open`.
  package init?(path: String) { fatalError() }
}

package enum UnixSocket {
  /// Binds and listens with `mode` from the first moment (umask around bind); checks that the parent directory belongs to root or us and others cannot write it; replaces a stale socket of ours (nobody answers), refuses to unlink anything else.
  package static func listen(path: String, mode: UInt32, group: UInt32?, backlog: Int32) throws(SystemError) -> Int32 { fatalError() }
}

package enum ServiceManager {
  /// sd_notify(3) over $NOTIFY_SOCKET; does nothing without it.
  package static func notify(_ state: String) { fatalError() }
  /// $WATCHDOG_USEC, if meant for us, in milliseconds.
  package static var watchdogInterval: UInt64? { fatalError() }
  package static var isJournalStream: Bool { fatalError() }
}

package enum Users {
  package static var currentUID: UInt32 { fatalError() }
  package static func uid(named name: String) -> UInt32? { fatalError() }
  package static func gid(named name: String) -> UInt32? { fatalError() }
  /// All uids whose primary or supplementary group this is.
  package static func members(ofGroup gid: UInt32) -> Set<UInt32> { fatalError() }
  package static func name(ofUID uid: UInt32) -> String? { fatalError() }
}

package enum Clock {
  /// Seconds since 1970 (CLOCK_REALTIME), with microseconds.
  package static var now: (seconds: Int64, microseconds: Int64) { fatalError() }
}
