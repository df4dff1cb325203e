/// One line of an audit file, taken apart; what it says is not judged.
struct AuditLine {
  static let chainKey = " chain="

  let number: UInt64
  /// How many of its bytes the chain covers.
  let recordCount: Int
  let chain: ChainHash
  /// The record with which a file begins, or goes on after a restart.
  let isOpened: Bool
  /// The record that says how many there was no room for.
  let isDropped: Bool

  /// - Parameter line: without its newline.
  /// nil: it is no record, or not a whole one. No part of a record is a whole one: what looks like its end may stand in a
  /// value, but then within quotes that are open.
  init?(_ line: Span<UInt8>) {
    let recordCount = line.count - AuditLine.chainKey.utf8.count - ChainHash.textCount
    guard recordCount > 0, let number = AuditLine.number(of: line),
      AuditLine.stands(AuditLine.chainKey, in: line, at: recordCount),
      let chain = ChainHash(line.extracting((line.count - ChainHash.textCount)...))
    else { return nil }
    var isQuoted = false
    AuditLine.walk(line.extracting(..<recordCount)) { _, quoted in isQuoted = quoted }
    guard !isQuoted else { return nil }
    self.number = number
    let event = AuditLine.eventPlace(in: line)
    isOpened = event.map { AuditLine.stands("event=opened ", in: line, at: $0) } ?? false
    isDropped = event.map { AuditLine.stands("event=dropped ", in: line, at: $0) } ?? false
    self.recordCount = recordCount
    self.chain = chain
  }

  /// Whether a crash or a full disk may have left this much of the record with this number.
  /// - Parameters:
  ///   - number: nil: any.
  ///   - isOpened: only of the one with which a start begins.
  static func isRest(_ line: Span<UInt8>, ofNumber number: UInt64?, isOpened: Bool) -> Bool {
    guard begins(line, like: number.map { "n=\($0) time=" } ?? "n=") else { return false }
    guard isOpened, let place = eventPlace(in: line) else { return true }
    return begins(line.extracting(place...), like: "event=opened ")
  }

  /// As far as both go.
  private static func begins(_ line: Span<UInt8>, like text: String) -> Bool {
    let text = text.utf8.span
    for index in 0..<min(line.count, text.count) where line[index] != text[index] { return false }
    return true
  }

  /// Behind number and time; there a request's record has something else.
  private static func eventPlace(in line: Span<UInt8>) -> Int? {
    var spaces = 0
    for index in line.indices where line[index] == UInt8(ascii: " ") {
      spaces += 1
      if spaces == 2 { return index + 1 }
    }
    return nil
  }

  /// The value of a field outside of quotes; nil: there is none of that name.
  static func value(of name: String, in line: Span<UInt8>) -> String? {
    let key = " \(name)="
    var start: Int?
    walk(line) { index, isQuoted in
      if start == nil, !isQuoted, stands(key, in: line, at: index) { start = index + key.utf8.count }
    }
    guard let start else { return nil }
    var end = start
    while end < line.count, line[end] != UInt8(ascii: " ") { end += 1 }
    var text: [UInt8] = []
    text.append(span: line.extracting(start..<end))
    return String(decoding: text, as: UTF8.self)
  }

  /// Calls `visit` for each byte: its place, and whether quotes are open after it.
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

  private static func stands(_ text: String, in line: Span<UInt8>, at start: Int) -> Bool {
    let text = text.utf8.span
    guard start >= 0, line.count - start >= text.count else { return false }
    for index in text.indices where line[start + index] != text[index] { return false }
    return true
  }

  /// `n=17 `, without zeros in front.
  private static func number(of line: Span<UInt8>) -> UInt64? {
    guard stands("n=", in: line, at: 0) else { return nil }
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
