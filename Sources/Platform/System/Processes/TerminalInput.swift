internal import Glibc

/// The terminal that a person sits at, wherever standard input and output lead.
package final class TerminalInput {
  private let descriptor: Int32
  private var saved: termios?

  /// Whether standard input is a terminal, where what is typed would be shown.
  package static var isStandardInput: Bool { isatty(STDIN_FILENO) == 1 }

  /// `nil`: there is none.
  package init?() {
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
  }

  deinit {
    setEcho(true)
    close(descriptor)
  }

  /// Shows a text there.
  package func show(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = retrying { bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  /// Reads one line, as it is typed and edited there. `nil`: the input has ended.
  package func line() -> String? {
    var bytes: [UInt8] = []
    while let byte = byte() {
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
      if bytes.count >= Self.longestLine { return nil }
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  private static let longestLine = 65_536

  /// The next byte that is typed. `nil`: there are no more.
  package func byte() -> UInt8? {
    var byte: UInt8 = 0
    return retrying({ read(descriptor, &byte, 1) }) == 1 ? byte : nil
  }

  /// Without echo each key arrives as it is pressed, Ctrl-C and backspace too: a program that dies in between leaves no terminal that
  /// shows nothing.
  package func setEcho(_ isOn: Bool) {
    if isOn {
      guard var before = saved else { return }
      tcsetattr(descriptor, TCSADRAIN, &before)
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
