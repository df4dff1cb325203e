internal import Glibc
package import System

/// A secret that the user types, pipes or passes in a file, before it is stored in a credential's file.
package struct IncomingSecret: ~Copyable {
  package enum Problem: Error {
    case empty
    case tooLong
    /// A control character, usually a line break because the text has several lines.
    case controlCharacter
    case surroundingSpace
    case inQuotes
    /// The user pressed Ctrl-C.
    case interrupted
    case unreadable(SystemError)
  }

  /// Maximum size of an entered secret in bytes.
  private static let maximumByteCount = 65_536
  private let secret: Secret

  /// Reads one line from the terminal without echo.
  package init(typedAt terminal: TerminalInput) throws(Problem) {
    secret = try Self.validated(Self.typed(at: terminal))
  }

  /// Reads a file, or standard input if `path` is `nil`. Removes one line break at the end.
  package init(readingFrom path: String?) throws(Problem) { secret = try Self.validated(Self.content(of: path)) }

  /// Lends the bytes for the duration of the call.
  @_spi(SecretBytes) public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try secret.withBytes(body)
  }

  package borrowing func begins(with prefixes: [String]) -> Bool {
    secret.withBytes { bytes in prefixes.contains { bytes.starts(with: $0.utf8) } }
  }

  package borrowing func store(at path: String, mode: UInt32, group: UInt32?) throws(SystemError) {
    try secret.withBytes { (bytes) throws(SystemError) in
      try NewFile.create(path, bytes, mode: mode, group: group)
    }
  }

  private static func typed(at terminal: TerminalInput) throws(Problem) -> Secret {
    var secret = try emptySecret()
    terminal.setEcho(false)
    defer { terminal.setEcho(true) }
    while let byte = terminal.readByte(), byte != 0x0A, byte != 0x0D, byte != 0x04 {
      switch byte {
      case 0x03: throw .interrupted
      case 0x08, 0x7F: secret.removeLast(1)
      // Ctrl-U
      case 0x15: secret.removeLast(secret.count)
      default: try append(byte, to: &secret)
      }
    }
    return secret
  }

  private static func content(of path: String?) throws(Problem) -> Secret {
    let descriptor = path.map { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY) } ?? STDIN_FILENO
    guard descriptor >= 0 else { throw .unreadable(SystemError(operation: "open", errno: errno)) }
    defer { if path != nil { close(descriptor) } }
    var secret = try emptySecret()
    var byte: UInt8 = 0
    while true {
      let count = read(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unreadable(SystemError(operation: "read", errno: errno)) }
      if count == 0 { break }
      try append(byte, to: &secret)
    }
    if secret.withBytes({ $0.last }) == 0x0A { secret.removeLast(1) }
    if secret.withBytes({ $0.last }) == 0x0D { secret.removeLast(1) }
    return secret
  }

  private static func emptySecret() throws(Problem) -> Secret {
    do throws(SystemError) { return try Secret(capacity: 1_024, in: SecretArena()) } catch { throw .unreadable(error) }
  }

  private static func append(_ byte: UInt8, to secret: inout Secret) throws(Problem) {
    guard secret.count < maximumByteCount else { throw .tooLong }
    do throws(SystemError) { try secret.append(byte) } catch { throw .unreadable(error) }
  }

  private static func validated(_ secret: consuming Secret) throws(Problem) -> Secret {
    let problem = secret.withBytes { (bytes) -> Problem? in
      guard let first = bytes.first, let last = bytes.last else { return .empty }
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return .controlCharacter }
      if first == 0x20 || last == 0x20 { return .surroundingSpace }
      let isQuoted = first == UInt8(ascii: "\"") || first == UInt8(ascii: "'")
      return isQuoted && first == last && bytes.count > 1 ? .inQuotes : nil
    }
    if let problem { throw problem }
    return secret
  }
}
