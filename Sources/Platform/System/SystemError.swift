internal import Glibc

/// A system call that failed: which, and why.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  package let errno: Int32
  /// `operation` says all there is to say.
  private let isFinding: Bool

  package init(operation: String, errno: Int32) {
    (self.operation, self.errno, isFinding) = (operation, errno, false)
  }

  /// A finding of our own, in our own words; `errno` is for those who tell errors apart.
  init(finding: String, errno: Int32) {
    (operation, self.errno, isFinding) = (finding, errno, true)
  }

  /// `mlock: Cannot allocate memory`, or what was found
  package var description: String { isFinding ? operation : "\(operation): \(String(cString: strerror(errno)))" }
}

/// The funnel of every system call whose failure matters.
@discardableResult
func check(_ result: Int32, _ operation: StaticString) throws(SystemError) -> Int32 {
  guard result >= 0 else { throw SystemError(operation: "\(operation)", errno: errno) }
  return result
}

/// Repeats a call that a signal has interrupted.
func retrying<Result: FixedWidthInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

/// The value of an environment variable.
func environment(_ name: String) -> String? {
  getenv(name).map { String(cString: $0) }
}

extension SystemError {
  /// EWOULDBLOCK: a lock that another process has.
  package var isHeldByAnother: Bool { errno == EWOULDBLOCK }
  package var isOfMissing: Bool { errno == ENOENT }
  package var isOfExisting: Bool { errno == EEXIST }
  package var isOfReadOnlySystem: Bool { errno == EROFS }
  /// Another time it may well work: something was short (EMFILE), or a file server was away (EIO). Not so what has been set up,
  /// and would have to be set up otherwise.
  package var isPassing: Bool {
    switch errno {
    case 0, ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, EINVAL, ELOOP, EROFS, ENAMETOOLONG, ENXIO, ENODEV, EFBIG, EOVERFLOW:
      false
    default: true
    }
  }
  /// Pages could not be locked in memory.
  package var isOfLocking: Bool { operation.hasPrefix("mlock") }
}
