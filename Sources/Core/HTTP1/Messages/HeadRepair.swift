internal import Primitives

/// Repairs an invalid but complete response head, or throws the reason to refuse it.
struct HeadRepair {
  private(set) var clean: [UInt8] = []
  private(set) var repairs: HeadRepairs = []
  /// The line and the field that `run` is reading, or at which it has thrown an error.
  private(set) var fault = MessageFault()

  private let isStrict: Bool
  private let mostFields: Int
  private var field = CurrentField.none
  private var name: Range<Int>?
  private var contentLength: UInt64?
  private var isChunked = false
  private var framingFault = MessageFault()

  /// How `run` treated the current field.
  private enum CurrentField { case none, kept, unfoldable, dropped, framing }

  /// - Parameter isStrict: `true` to refuse every head that needs a repair.
  init(isStrict: Bool, maximumFields: Int) {
    self.isStrict = isStrict
    self.mostFields = maximumFields
  }

  /// Whether `run` can repair or locate this fault.
  static func accepts(_ reason: MessageError.Reason) -> Bool {
    HeadRepairs.canRepair(reason) || reason == .tooManyFields
  }

  /// Writes the repaired form of a complete head to `clean`.
  mutating func run(_ head: Span<UInt8>) throws(MessageError) {
    clean.reserveCapacity(head.count &+ 64)
    var (start, line, count) = (0, 0, 0)
    while start < head.count {
      var end = start
      while end < head.count, head[end] != Byte.lineFeed { end &+= 1 }
      let next = end &+ 1
      line &+= 1
      fault = MessageFault(line: line)
      if end > start, head[end &- 1] == Byte.carriageReturn { end &-= 1 } else { try note(.lineFeed) }
      let range = start..<end
      start = next
      if line == 1 {
        write(range, of: head)
        endLine()
      } else if range.isEmpty {
        break
      } else {
        // A continuation line counts as a field.
        count &+= 1
        if count > mostFields { continue }
        if Grammar.isBlank(head[range.lowerBound]) {
          try continueField(with: range, of: head)
        } else {
          endField()
          try beginField(range, of: head)
        }
      }
    }
    endField()
    guard count <= mostFields else {
      fault = MessageFault(limit: MessageLimit(.fields, mostFields))
      fault.count = count
      throw MessageError(.tooManyFields)
    }
    try endFraming()
    endLine()
  }

  private mutating func beginField(_ line: Range<Int>, of head: Span<UInt8>) throws(MessageError) {
    field = .none
    name = nil
    var colon = line.lowerBound
    while colon < line.upperBound, head[colon] != Byte.colon { colon &+= 1 }
    guard colon < line.upperBound else { throw MessageError(.noColon) }
    let name = Grammar.trimmed(line.lowerBound..<colon, head)
    let value = Grammar.trimmed((colon &+ 1)..<line.upperBound, head)
    let isLegal = !name.isEmpty && name.allSatisfy { Grammar.isToken(head[$0]) }
    if isLegal {
      self.name = name
      fault.name = name
    }
    try check(line, of: head)
    guard isLegal else {
      guard !Self.resemblesFraming(name, of: head, mayBePart: true) else { throw MessageError(.badFieldName) }
      try note(.fieldName)
      field = .dropped
      return
    }
    try checkValue(value, of: head)
    if name.upperBound < colon { try note(.blankBeforeColon) }
    if FieldName.matches(name, of: head, "content-length") {
      try readContentLength(value, of: head)
    } else if FieldName.matches(name, of: head, "transfer-encoding") {
      try readTransferEncoding(value, of: head)
    } else {
      field = Self.resemblesFraming(name, of: head) ? .unfoldable : .kept
      write(name, of: head)
      clean.append(Byte.colon)
      clean.append(Byte.space)
      write(value, of: head)
    }
  }

  /// Appends a continuation line, which begins with a space or tab, to the current field (RFC 9112 §5.2).
  private mutating func continueField(with line: Range<Int>, of head: Span<UInt8>) throws(MessageError) {
    fault.name = name
    let more = Grammar.trimmed(line, head)
    // Other parsers could ignore the continuation line of a field about the body or the connection.
    switch field {
    case .none, .framing, .unfoldable: throw MessageError(.obsoleteFolding)
    case .kept: try checkValue(more, of: head)
    case .dropped: break
    }
    try check(line, of: head)
    try note(.foldedField)
    guard field == .kept, !more.isEmpty else { return }
    clean.append(Byte.space)
    write(more, of: head)
  }

  /// Parses a Content-Length value (RFC 9110 §8.6), and refuses numbers that differ.
  private mutating func readContentLength(_ value: Range<Int>, of head: Span<UInt8>) throws(MessageError) {
    (field, framingFault) = (.framing, fault)
    var start = value.lowerBound
    for index in value.lowerBound...value.upperBound where index == value.upperBound || head[index] == Byte.comma {
      let number = try Framing.number(Grammar.trimmed(start..<index, head), of: head)
      start = index &+ 1
      if let contentLength {
        guard number == contentLength else { throw MessageError(.duplicateContentLength) }
        try note(.equalLengths)
      }
      contentLength = number
    }
  }

  private mutating func readTransferEncoding(_ value: Range<Int>, of head: Span<UInt8>) throws(MessageError) {
    (field, framingFault) = (.framing, fault)
    let error = Framing.codingError(head.extracting(value))
    let isOne = FieldName.matches(value, of: head, "chunked")
    guard isOne || error.reason == .duplicateTransferEncoding else { throw error }
    if !isOne || isChunked { try note(.repeatedChunked) }
    isChunked = true
  }

  /// Writes one Content-Length or Transfer-Encoding field (RFC 9112 §6.3).
  private mutating func endFraming() throws(MessageError) {
    fault = framingFault
    if isChunked {
      if contentLength != nil { try note(.lengthBesideChunked) }
      clean.append("Transfer-Encoding: chunked\r\n")
    } else if let contentLength {
      clean.append("Content-Length: ")
      clean.append(decimal: contentLength)
      endLine()
    }
  }

  private mutating func note(_ repair: HeadRepairs) throws(MessageError) {
    if isStrict { throw MessageError(repair.reason) }
    repairs.insert(repair)
  }

  /// Throws if the line contains a NUL, or a CR before its end.
  private func check(_ line: Range<Int>, of head: Span<UInt8>) throws(MessageError) {
    for index in line {
      if head[index] == Byte.carriageReturn { throw MessageError(.bareCarriageReturn) }
      if head[index] == 0 { throw MessageError(name == nil ? .badFieldName : .badFieldValue) }
    }
  }

  private func checkValue(_ value: Range<Int>, of head: Span<UInt8>) throws(MessageError) {
    for index in value where !Grammar.isValue(head[index]) { throw MessageError(.badFieldValue) }
  }

  private mutating func write(_ range: Range<Int>, of head: Span<UInt8>) { clean.append(head.extracting(range)) }

  private mutating func endLine() { clean.append("\r\n") }

  private mutating func endField() {
    if field == .kept || field == .unfoldable { endLine() }
  }

  /// Whether the letters of the name equal (with `mayBePart`: contain) the name of a field about body or connection.
  private static func resemblesFraming(_ name: Range<Int>, of head: Span<UInt8>, mayBePart: Bool = false) -> Bool {
    var letters: [UInt8] = []
    for index in name where (head[index] | 0x20) &- 0x61 < 26 { letters.append(head[index] | 0x20) }
    return framingNames.contains { letters == $0 || mayBePart && contains(letters.span, $0.span) }
      || connectionNames.contains { letters == $0 }
  }

  private static func contains(_ text: Span<UInt8>, _ word: Span<UInt8>) -> Bool {
    guard text.count >= word.count else { return false }
    for start in 0...(text.count &- word.count) {
      var index = 0
      while index < word.count, text[start &+ index] == word[index] { index &+= 1 }
      if index == word.count { return true }
    }
    return false
  }

  private static let framingNames = ["contentlength", "transferencoding"].map { Array($0.utf8) }
  private static let connectionNames = ["connection", "keepalive", "proxyconnection", "te", "trailer", "upgrade"]
    .map { Array($0.utf8) }
}

/// Finds the empty line at the end of a head.
struct HeadEnding {
  private var position = 0
  private var lineStart = 0

  /// Returns the position after the empty line, or `nil` if the line has not arrived yet.
  mutating func find(in bytes: Span<UInt8>) -> Int? {
    while position < bytes.count {
      let index = position
      position &+= 1
      guard bytes[index] == Byte.lineFeed else { continue }
      let length = index &- lineStart
      if length == 0 || length == 1 && bytes[lineStart] == Byte.carriageReturn { return position }
      lineStart = position
    }
    return nil
  }
}

extension MessageError.Reason {
  /// Whether the parser finds this fault only after it has read the whole field line.
  var isDetectedAtLineEnd: Bool {
    switch self {
    case .badContentLength, .duplicateContentLength, .lengthWithTransferEncoding, .badTransferEncoding,
      .duplicateTransferEncoding, .unknownTransferCoding, .transferEncodingInHTTP10, .tooManyFields, .tooManyOptions:
      true
    default: false
    }
  }
}
