/// Parses the field lines of a head or a trailer section, one at a time (RFC 9112 §5).
struct FieldLines: Sendable {
  enum Step {
    case needsMore
    case field(Field)
    /// The empty line after the last field was read.
    case end
  }

  /// The position of the first byte that has not been read yet.
  private(set) var position: Int

  private enum Phase { case lineStart, name, valueStart, value }
  private var phase = Phase.lineStart
  private var nameStart = 0
  private var nameEnd = 0
  private var valueStart = 0
  /// The last eight bytes of the field name read so far, in lowercase, with the last byte in the lowest bits.
  private var tail: UInt64 = 0

  init(at position: Int = 0) { self.position = position }

  var lineStart: Int { phase == .lineStart ? position : nameStart }
  /// The name of the field whose value is being read; `nil` while no value is being read.
  var currentName: Range<Int>? {
    switch phase {
    case .valueStart, .value: nameStart..<nameEnd
    case .lineStart, .name: nil
    }
  }

  /// Parses the next field line, or the empty line after the last field. `bytes` are all bytes received so far.
  @inline(__always)
  mutating func next(_ bytes: Span<UInt8>, _ names: KnownNames) throws(MessageError) -> Step {
    let count = bytes.count
    var position = self.position
    switch phase {
    case .lineStart:
      guard position < count else { return .needsMore }
      let first = bytes[position]
      if first == Byte.carriageReturn {
        guard position &+ 1 < count else { return .needsMore }
        guard bytes[position &+ 1] == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
        self.position = position &+ 2
        return .end
      }
      if Grammar.isBlank(first) { throw MessageError(.obsoleteFolding) }
      nameStart = position
      tail = 0
      phase = .name
      fallthrough

    case .name:
      var tail = self.tail
      if position == nameStart {
        position = Scanning.endOfLetters(bytes, from: position)
        tail = Scanning.foldedTail(bytes, nameStart..<position)
      }
      while position < count {
        let folded = Grammar.foldedToken[Int(bytes[position])]
        if folded == 0 { break }
        tail = tail << 8 | UInt64(folded)
        position &+= 1
      }
      self.tail = tail
      self.position = position
      guard position < count else { return .needsMore }
      guard bytes[position] == Byte.colon, position > nameStart else { throw Self.nameError(bytes[position]) }
      nameEnd = position
      position &+= 1
      phase = .valueStart
      fallthrough

    case .valueStart:
      while position < count, Grammar.isBlank(bytes[position]) { position &+= 1 }
      self.position = position
      guard position < count else { return .needsMore }
      valueStart = position
      phase = .value
      fallthrough

    case .value:
      position = Scanning.endOfValue(bytes, from: position)
      self.position = position
      guard position < count else { return .needsMore }
      guard bytes[position] == Byte.carriageReturn else { throw Self.valueError(bytes[position]) }
      guard position &+ 1 < count else { return .needsMore }
      guard bytes[position &+ 1] == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
      self.position = position &+ 2
      phase = .lineStart
      while position > valueStart, Grammar.isBlank(bytes[position &- 1]) { position &-= 1 }
      let name = nameStart..<nameEnd
      return .field(
        Field(name: name, value: valueStart..<position, known: names.field(name, of: bytes, tail: tail)))
    }
  }

  private static func nameError(_ byte: UInt8) -> MessageError {
    if Grammar.isBlank(byte) { return MessageError(.spaceBeforeColon) }
    if byte == Byte.carriageReturn { return MessageError(.noColon) }
    return MessageError(byte == Byte.lineFeed ? .bareLineFeed : .badFieldName)
  }

  private static func valueError(_ byte: UInt8) -> MessageError {
    MessageError(byte == Byte.lineFeed ? .bareLineFeed : .badFieldValue)
  }
}
