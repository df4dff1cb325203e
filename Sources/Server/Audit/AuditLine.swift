struct AuditLine {
  static let chainKey = " chain="

  let number: UInt64
  /// Number of bytes of the line that the chain value covers.
  let recordCount: Int
  let chain: ChainHash
  let isOpened: Bool
  /// Whether this record counts dropped records (`event=dropped`).
  let isDropped: Bool

  /// Parses a line without its newline. `nil` if the line is not a complete record.
  init?(_ line: Span<UInt8>) {
    let recordCount = line.count - AuditLine.chainKey.utf8.count - ChainHash.textCount
    guard recordCount > 0, let number = AuditLine.number(of: line),
      AuditLine.contains(AuditLine.chainKey, in: line, at: recordCount),
      let chain = ChainHash(line.extracting((line.count - ChainHash.textCount)...))
    else { return nil }
    // A fragment of a record may end in quoted text that looks like a chain value. Its quotes are not closed.
    var isQuoted = false
    AuditLine.walk(line.extracting(..<recordCount)) { _, quoted in isQuoted = quoted }
    guard !isQuoted else { return nil }
    self.number = number
    let event = AuditLine.eventStart(in: line)
    isOpened = event.map { AuditLine.contains("event=opened ", in: line, at: $0) } ?? false
    isDropped = event.map { AuditLine.contains("event=dropped ", in: line, at: $0) } ?? false
    self.recordCount = recordCount
    self.chain = chain
  }

  /// Whether the line can be the beginning of a record.
  /// - Parameters:
  ///   - number: The number of the record. `nil` for any number.
  ///   - isOpened: `true` to accept only an `event=opened` record.
  static func isFragment(_ line: Span<UInt8>, ofNumber number: UInt64?, isOpened: Bool) -> Bool {
    guard matchesPrefix(number.map { "n=\($0) time=" } ?? "n=", of: line) else { return false }
    guard isOpened, let start = eventStart(in: line) else { return true }
    return matchesPrefix("event=opened ", of: line.extracting(start...))
  }

  /// Whether `text` and `line` are equal up to the end of the shorter one.
  private static func matchesPrefix(_ text: String, of line: Span<UInt8>) -> Bool {
    let text = text.utf8.span
    for index in 0..<min(line.count, text.count) where line[index] != text[index] { return false }
    return true
  }

  /// Returns the index after the number and time of a record, or `nil` if the line is shorter.
  private static func eventStart(in line: Span<UInt8>) -> Int? {
    var spaces = 0
    for index in line.indices where line[index] == UInt8(ascii: " ") {
      spaces += 1
      if spaces == 2 { return index + 1 }
    }
    return nil
  }

  /// Returns the value of a field outside quotes, or `nil` if there is no such field.
  static func value(of name: String, in line: Span<UInt8>) -> String? {
    let key = " \(name)="
    var start: Int?
    walk(line) { index, isQuoted in
      if start == nil, !isQuoted, contains(key, in: line, at: index) { start = index + key.utf8.count }
    }
    guard let start else { return nil }
    var end = start
    while end < line.count, line[end] != UInt8(ascii: " ") { end += 1 }
    var text: [UInt8] = []
    text.append(span: line.extracting(start..<end))
    return String(decoding: text, as: UTF8.self)
  }

  /// Calls `visit` with the index of each byte, and with `true` for bytes in quotes.
  private static func walk(_ line: Span<UInt8>, _ visit: (Int, Bool) -> Void) {
    var (isQuoted, isEscaped) = (false, false)
    for index in line.indices {
      let byte = line[index]
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = isQuoted
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      }
      visit(index, isQuoted)
    }
  }

  private static func contains(_ text: String, in line: Span<UInt8>, at start: Int) -> Bool {
    let text = text.utf8.span
    guard start >= 0, line.count - start >= text.count else { return false }
    for index in text.indices where line[start + index] != text[index] { return false }
    return true
  }

  /// Parses the record's number, as in `n=17 `.
  private static func number(of line: Span<UInt8>) -> UInt64? {
    guard contains("n=", in: line, at: 0) else { return nil }
    var number: UInt64 = 0
    for index in 2..<line.count {
      let byte = line[index]
      if byte == UInt8(ascii: " ") { return number > 0 ? number : nil }
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), index > 2 || byte > UInt8(ascii: "0") else {
        return nil
      }
      let (tenfold, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isStillTooLarge) = tenfold.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      guard !isTooLarge, !isStillTooLarge else { return nil }
      number = sum
    }
    return nil
  }
}
