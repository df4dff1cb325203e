internal import Glibc

package enum StandardInput {
  /// Reads all of standard input. Throws `Failure.usage` if there are more than `maximum` bytes.
  /// - Parameter kind: The kind of input, for messages.
  package static func read(maximum: Int, of kind: String) throws(Failure) -> [UInt8] {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while text.count <= maximum {
      let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
      if count == 0 { return text }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw Failure(Failure.usage, "standard input cannot be read: \(String(cString: strerror(errno)))")
      }
      text += buffer[..<count]
    }
    throw Failure(Failure.usage, "standard input has more than \(maximum) bytes, the maximum size of \(kind)")
  }
}
