internal import Glibc
package import System

/// A secret on its way from a person, a pipe or a file to the file that a credential reads.
package struct IncomingSecret: ~Copyable {
  /// What makes it unusable as a key.
  package enum Problem: Error {
    case empty
    case tooLong
    /// Line breaks and other control characters: most of all several lines.
    case controlCharacter
    case blankAtEnd
    case inQuotes
    /// The person has pressed Ctrl-C.
    case interrupted
    case unreadable(SystemError)
  }

  /// More than any API key has.
  private static let mostBytes = 65_536
  private let secret: Secret

  /// Reads what is typed or pasted, up to the end of the line, and shows none of it.
  package init(typedAt terminal: TerminalInput) throws(Problem) { secret = try Self.judged(Self.typed(at: terminal)) }

  /// Reads a file, or standard input if that is `nil`, without one line break at its end.
  package init(readingFrom path: String?) throws(Problem) { secret = try Self.judged(Self.content(of: path)) }

  package var count: Int { secret.count }

  /// Whether it begins in one of these ways.
  package borrowing func begins(with prefixes: [String]) -> Bool {
    secret.withBytes { bytes in prefixes.contains { bytes.starts(with: $0.utf8) } }
  }

  /// Writes it into a new file, and nowhere else.
  package borrowing func store(at path: String, mode: UInt32, group: UInt32?) throws(SystemError) {
    try secret.withBytes { (bytes) throws(SystemError) in
      try NewFile.create(path, bytes, mode: mode, group: group)
    }
  }

  private static func typed(at terminal: TerminalInput) throws(Problem) -> Secret {
    var secret = try empty()
    terminal.setEcho(false)
    defer { terminal.setEcho(true) }
    while let byte = terminal.byte(), byte != 0x0A, byte != 0x0D, byte != 0x04 {
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
    var secret = try empty()
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

  private static func empty() throws(Problem) -> Secret {
    do throws(SystemError) { return try Secret(capacity: 1_024, in: SecretArena()) } catch { throw .unreadable(error) }
  }

  private static func append(_ byte: UInt8, to secret: inout Secret) throws(Problem) {
    guard secret.count < mostBytes else { throw .tooLong }
    do throws(SystemError) { try secret.append(byte) } catch { throw .unreadable(error) }
  }

  private static func judged(_ secret: consuming Secret) throws(Problem) -> Secret {
    let problem = secret.withBytes { (bytes) -> Problem? in
      guard let first = bytes.first, let last = bytes.last else { return .empty }
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return .controlCharacter }
      if first == 0x20 || last == 0x20 { return .blankAtEnd }
      let isQuoted = first == UInt8(ascii: "\"") || first == UInt8(ascii: "'")
      return isQuoted && first == last && bytes.count > 1 ? .inQuotes : nil
    }
    if let problem { throw problem }
    return secret
  }
}
