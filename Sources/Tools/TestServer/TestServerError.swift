internal import COpenSSL
internal import Glibc

package struct TestServerError: Error, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }

  static func system(_ operation: String) -> Self {
    Self("\(operation): \(String(cString: strerror(errno)))")
  }

  /// Creates an error from the first entry of OpenSSL's error queue, and clears the queue.
  static func openSSL(_ operation: String) -> Self {
    let reason = ERR_reason_error_string(ERR_get_error())
    ERR_clear_error()
    return Self(reason.map { "\(operation): \(String(cString: $0))" } ?? operation)
  }
}
