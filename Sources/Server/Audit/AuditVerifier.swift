/// Follows a chain from the beginning of a file through those that go on from it. Holds no more than the line under way,
/// however long they are.
package struct AuditVerifier {
  /// The first place where the chain does not hold.
  package struct Fault: Error {
    /// From 1.
    package let line: UInt64
    /// The value that was wanted, and the one that came.
    package let message: String
  }

  /// Records, and the numbers of the first and the last one.
  package private(set) var records: UInt64 = 0
  package private(set) var first: UInt64 = 0
  package var last: UInt64 { chain.count }
  package var head: ChainHash { chain.head }
  package private(set) var firstTime = ""
  package var lastTime: String { AuditLine.value(of: "time", in: lastRecord.span) ?? "" }
  /// Lines that were cut off by a crash or a full disk, as the record after each says.
  package private(set) var torn: UInt64 = 0
  /// Records for which there was no room, as the file says.
  package private(set) var dropped: UInt64 = 0
  /// The value that the first file goes on from; nil: it begins a chain.
  package private(set) var previous: ChainHash?
  /// The last file ends in the middle of a line.
  package private(set) var isCutOff = false
  /// The number of the record that has it, for each value that is looked for.
  package private(set) var found: [UInt64?]

  private let wanted: [ChainHash]
  private var chain = AuditChain()
  private var file = FileProgress()
  private var lastRecord: [UInt8] = []

  /// The place in the file under way.
  private struct FileProgress {
    /// The number of the last line.
    var line: UInt64 = 0
    /// No record has come yet.
    var isAtBeginning = true
    /// The last line ended in zeros, which only a start may follow.
    var isHollow = false
    /// The beginning of the line under way.
    var carry: [UInt8] = []
    /// Lines that are no records, since the last one.
    var pending = 0
  }

  /// More than any record has.
  private static let longestLine = 1 << 20

  /// - Parameter wanted: chain values to look for.
  package init(seeking wanted: [ChainHash] = []) {
    self.wanted = wanted
    found = wanted.map { _ in nil }
  }

  /// The next bytes of the file.
  package mutating func take(_ bytes: Span<UInt8>) throws(Fault) {
    var start = 0
    for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
      if file.carry.isEmpty {
        try takeLine(bytes.extracting(start..<index))
      } else {
        hold(bytes.extracting(start..<index))
        let whole = file.carry
        file.carry.removeAll()
        try takeLine(whole.span)
      }
      start = index + 1
    }
    hold(bytes.extracting(start...))
    guard file.carry.count <= AuditVerifier.longestLine else {
      throw Fault(line: file.line + 1, message: "expected \(next), found a line that is longer than any record")
    }
  }

  /// The file is over. What comes after this is of the one that goes on from it.
  package mutating func finish() throws(Fault) {
    let rest = file.carry
    file.carry.removeAll()
    // All but its newline may be there.
    if !rest.isEmpty { try takeLine(rest.span) }
    isCutOff = !rest.isEmpty || file.pending > 0
    file = FileProgress()
  }

  /// Zeros, of which a loss of power may leave any number, count as one.
  private mutating func hold(_ bytes: Span<UInt8>) {
    for index in bytes.indices where bytes[index] != 0 || file.carry.last != 0 { file.carry.append(bytes[index]) }
  }

  private mutating func takeLine(_ whole: Span<UInt8>) throws(Fault) {
    file.line += 1
    var count = whole.count
    while count > 0, whole[count - 1] == 0 { count -= 1 }
    let bytes = whole.extracting(..<count)
    guard let parsed = AuditLine(bytes) else { return try takeRest(bytes) }
    let isOpened = parsed.isOpened
    guard isOpened || !file.isHollow else {
      throw Fault(line: file.line - 1, message: "zero bytes follow this record")
    }
    file.isHollow = count < whole.count
    let said = isOpened ? AuditLine.value(of: "torn", in: bytes) ?? "0" : "0"
    guard said == String(file.pending) else {
      if file.pending == 0 {
        throw Fault(
          line: file.line, message: "torn=\(said) counts incomplete lines before this one, but there are none")
      }
      file.line -= 1
      throw tornFault
    }
    torn += UInt64(file.pending)
    file.pending = 0
    if file.isAtBeginning { try begin(parsed, bytes, isOpened: isOpened) }
    file.isAtBeginning = false
    guard parsed.number == chain.count &+ 1 else {
      throw Fault(line: file.line, message: "expected \(next), found n=\(parsed.number)")
    }
    let before = chain.head
    guard chain.advance(over: bytes.extracting(..<parsed.recordCount)), chain.head == parsed.chain else {
      throw Fault(
        line: file.line,
        message:
          "expected chain=\(chain.head) after \(before), found chain=\(parsed.chain): this record was changed, or the chain value of the record before it"
      )
    }
    records += 1
    if parsed.isDropped { dropped &+= AuditLine.value(of: "count", in: bytes).flatMap { UInt64($0) } ?? 0 }
    look()
    if records == 1 { firstTime = AuditLine.value(of: "time", in: bytes) ?? "" }
    lastRecord.removeAll(keepingCapacity: true)
    lastRecord.append(span: bytes)
  }

  /// A crash, or a full disk, cuts off one record. Each start after that which does not get further leaves a piece of its own
  /// first one.
  private mutating func takeRest(_ bytes: Span<UInt8>) throws(Fault) {
    let number = records == 0 ? nil : chain.count &+ 1
    guard AuditLine.isRest(bytes, ofNumber: number, isOpened: file.pending > 0) else {
      throw Fault(
        line: file.line,
        message: "expected \(next), found a line that is neither a record nor the remains of this record after a crash")
    }
    file.pending += 1
  }

  /// The first record says what it goes on from.
  private mutating func begin(_ parsed: AuditLine, _ bytes: Span<UInt8>, isOpened: Bool) throws(Fault) {
    guard isOpened, let previous = AuditLine.value(of: "previous", in: bytes) else {
      throw Fault(
        line: file.line,
        message: "expected the first record of a file (event=opened), found n=\(parsed.number)")
    }
    if records > 0 {
      guard previous == "\(chain.head)" else {
        throw Fault(
          line: file.line,
          message:
            "expected previous=\(chain.head), the end of the file before, found previous=\(previous): a file is missing between the two, the end of the file before is missing, or this file was begun when there was no other"
        )
      }
      return
    }
    first = parsed.number
    if previous == "none" { return }
    guard let head = ChainHash(parsing: previous) else {
      throw Fault(line: file.line, message: "expected a chain value in previous=, found \"\(previous)\"")
    }
    chain = AuditChain(count: parsed.number &- 1, head: head)
    self.previous = head
    look()
  }

  private mutating func look() {
    for (index, value) in wanted.enumerated() where value == chain.head { found[index] = chain.count }
  }

  private var next: String { records == 0 ? "n=1" : "n=\(chain.count &+ 1)" }

  /// The fault of the first line that waits for one that says so.
  private var tornFault: Fault {
    Fault(
      line: file.line + 1 - UInt64(file.pending),
      message: "expected \(next), found an incomplete record that the next record does not count in torn=")
  }
}
