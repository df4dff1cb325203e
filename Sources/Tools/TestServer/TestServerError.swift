internal import COpenSSL
internal import Glibc

/// A failure in the test server: an operation and its reason, for a person.
package struct TestServerError: Error, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }

  /// The reason of a failed system call.
  static func system(_ operation: String) -> Self {
    Self("\(operation): \(String(cString: strerror(errno)))")
  }

  /// The first reason of OpenSSL's queue, which is emptied.
  static func openSSL(_ operation: String) -> Self {
    let reason = ERR_reason_error_string(ERR_get_error())
    ERR_clear_error()
    return Self(reason.map { "\(operation): \(String(cString: $0))" } ?? operation)
  }
}
