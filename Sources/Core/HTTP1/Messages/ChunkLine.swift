import Primitives

/// Parses the line with the size of a chunk (RFC 9112 §7.1), and drops chunk extensions.
struct ChunkLine: Sendable {
  private enum State {
    case size, blankBeforeSemicolon
    case nameStart, name, blankAfterName
    case valueStart, value, quoted, escaped, afterQuoted
    case lineFeed
  }

  private var state = State.size
  private var size: UInt64 = 0
  private var digits = 0
  private var bytes = 0
  /// Number of extension bytes in all chunk lines of the body.
  private var extensionBytes = 0

  /// Parses the input from `position` on. Returns the chunk size, or `nil` if the line is incomplete.
  mutating func next(_ input: Span<UInt8>, _ position: inout Int) throws(MessageError) -> UInt64? {
    while position < input.count {
      let byte = input[position]
      position &+= 1
      bytes &+= 1
      if state == .lineFeed {
        guard byte == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
        defer { reset() }
        return size
      }
      guard bytes <= Self.maximumLineBytes, extensionBytes <= Self.maximumExtensionBytes else {
        throw MessageError(.chunkLineTooLong)
      }
      if byte == Byte.lineFeed { throw MessageError(.bareLineFeed) }
      if byte == Byte.carriageReturn {
        guard canEnd else { throw MessageError(.badChunkSize) }
        state = .lineFeed
      } else if state == .size, let digit = ASCII.hexValue(byte) {
        try readDigit(digit)
      } else {
        extensionBytes &+= 1
        guard let next = nextState(after: byte) else { throw MessageError(.badChunkSize) }
        state = next
      }
    }
    return nil
  }

  private var canEnd: Bool {
    switch state {
    case .size: digits > 0
    case .name, .value, .afterQuoted: true
    case .blankBeforeSemicolon, .nameStart, .blankAfterName, .valueStart, .quoted, .escaped, .lineFeed: false
    }
  }

  private mutating func readDigit(_ digit: UInt8) throws(MessageError) {
    digits &+= 1
    guard digits <= Self.sizeDigits, size <= UInt64(Int64.max) >> 4 else { throw MessageError(.badChunkSize) }
    size = size << 4 | UInt64(digit)
  }

  private func nextState(after byte: UInt8) -> State? {
    let isBlank = Grammar.isBlank(byte)
    switch state {
    case .size:
      guard digits > 0 else { return nil }
      return isBlank ? .blankBeforeSemicolon : byte == Byte.semicolon ? .nameStart : nil
    case .blankBeforeSemicolon, .afterQuoted:
      return isBlank ? .blankBeforeSemicolon : byte == Byte.semicolon ? .nameStart : nil
    case .nameStart:
      return isBlank ? .nameStart : Grammar.isToken(byte) ? .name : nil
    case .name:
      if Grammar.isToken(byte) { return .name }
      return isBlank ? .blankAfterName : byte == Byte.equals ? .valueStart : byte == Byte.semicolon ? .nameStart : nil
    case .blankAfterName:
      return isBlank ? .blankAfterName : byte == Byte.equals ? .valueStart : byte == Byte.semicolon ? .nameStart : nil
    case .valueStart:
      return isBlank ? .valueStart : byte == Byte.quote ? .quoted : Grammar.isToken(byte) ? .value : nil
    case .value:
      if Grammar.isToken(byte) { return .value }
      return isBlank ? .blankBeforeSemicolon : byte == Byte.semicolon ? .nameStart : nil
    case .quoted:
      if Grammar.isQuotedText(byte) { return .quoted }
      return byte == Byte.quote ? .afterQuoted : byte == Byte.backslash ? .escaped : nil
    case .escaped:
      return Grammar.isValue(byte) ? .quoted : nil
    case .lineFeed:
      return nil
    }
  }

  private mutating func reset() {
    state = .size
    size = 0
    digits = 0
    bytes = 0
  }

  private static var sizeDigits: Int { 16 }
  /// Maximum length of a chunk line in bytes, including its CR.
  private static var maximumLineBytes: Int { 256 }
  /// Maximum number of extension bytes in one body.
  private static var maximumExtensionBytes: Int { 16_384 }
}
