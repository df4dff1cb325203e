internal import Glibc

/// The controlling terminal, even if standard input and output are redirected.
package final class TerminalInput {
  private let descriptor: Int32
  private var saved: termios?

  package static var isStandardInput: Bool { isatty(STDIN_FILENO) == 1 }

  /// `nil` if the process has no terminal.
  package init?() {
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
  }

  deinit {
    setEcho(true)
    close(descriptor)
  }

  package func show(_ text: String) { writeText(text, to: descriptor) }

  /// Reads a line, without the line break. `nil` at the end of the input, or if the line is too long.
  package func readLine() -> String? {
    var bytes: [UInt8] = []
    while let byte = readByte() {
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
      if bytes.count >= Self.longestLine { return nil }
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  private static let longestLine = 65_536

  package func readByte() -> UInt8? {
    var byte: UInt8 = 0
    return retrying({ read(descriptor, &byte, 1) }) == 1 ? byte : nil
  }

  /// Turns echo on or off. While echo is off, every key is delivered immediately as a byte, and Ctrl-C does not end the
  /// program.
  package func setEcho(_ isOn: Bool) {
    if isOn {
      guard var original = saved else { return }
      tcsetattr(descriptor, TCSADRAIN, &original)
      saved = nil
    } else {
      var settings = termios()
      guard tcgetattr(descriptor, &settings) == 0 else { return }
      saved = settings
      settings.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
      tcsetattr(descriptor, TCSAFLUSH, &settings)
    }
  }
}
