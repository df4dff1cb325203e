internal import Glibc

/// The failure of a system call, or a check that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  package let errno: Int32
  private let isFinding: Bool

  package init(operation: String, errno: Int32) {
    (self.operation, self.errno, isFinding) = (operation, errno, false)
  }

  /// Creates an error for a failed check.
  /// - Parameter finding: the whole description.
  init(finding: String, errno: Int32) {
    (operation, self.errno, isFinding) = (finding, errno, true)
  }

  /// For example `mlock: Cannot allocate memory`, or the text of `init(finding:errno:)`.
  package var description: String { isFinding ? operation : "\(operation): \(String(cString: strerror(errno)))" }

  package var isLockedByAnotherProcess: Bool { errno == EWOULDBLOCK }
  package var isNotFound: Bool { errno == ENOENT }
  package var isTooLarge: Bool { errno == EFBIG }
  package var alreadyExists: Bool { errno == EEXIST }
  package var isReadOnlyFileSystem: Bool { errno == EROFS }
  /// Whether a retry may succeed, as after EMFILE or EIO. `false` for errors in the setup, such as a missing file.
  package var isTransient: Bool {
    switch errno {
    case 0, ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, EINVAL, ELOOP, EROFS, ENAMETOOLONG, ENXIO, ENODEV, EFBIG, EOVERFLOW:
      false
    default: true
    }
  }
  package var isMemoryLockFailure: Bool { operation.hasPrefix("mlock") }
}

/// Returns `result`, or throws `errno` if `result` is negative.
@discardableResult
func check(_ result: Int32, _ operation: StaticString) throws(SystemError) -> Int32 {
  guard result >= 0 else { throw SystemError(operation: "\(operation)", errno: errno) }
  return result
}

/// Repeats a system call until no signal interrupts it (EINTR).
func retrying<Result: FixedWidthInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
