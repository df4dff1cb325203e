/// Verifies the chain of an audit file and of the files that continue it.
package struct AuditVerifier {
  /// The first location where the chain is broken.
  package struct Fault: Error {
    /// The number of the line with the fault, counted from 1.
    package let line: UInt64
    package let message: String
  }

  package private(set) var records: UInt64 = 0
  package private(set) var first: UInt64 = 0
  package var last: UInt64 { chain.count }
  package var head: ChainHash { chain.head }
  package private(set) var firstTime = ""
  package var lastTime: String { AuditLine.value(of: "time", in: lastRecord.span) ?? "" }
  /// Number of incomplete lines, left by a crash or a full disk.
  package private(set) var torn: UInt64 = 0
  /// Number of dropped records, according to the file.
  package private(set) var dropped: UInt64 = 0
  /// The chain value that the first file continues. `nil` if the file begins a chain.
  package private(set) var previous: ChainHash?
  /// Whether the last file ends with an incomplete line.
  package private(set) var isCutOff = false
  /// For each wanted chain value, the number of the record with this value. `nil` if not found.
  package private(set) var found: [UInt64?]

  private let wanted: [ChainHash]
  private var chain = AuditChain()
  private var file = FileProgress()
  private var lastRecord: [UInt8] = []

  private struct FileProgress {
    /// The number of the last line.
    var line: UInt64 = 0
    var isAtBeginning = true
    /// Whether zero bytes follow the last record.
    var endsInZeros = false
    var partialLine: [UInt8] = []
    /// Number of incomplete lines since the last record.
    var fragments = 0
  }

  /// Maximum length of a line in bytes.
  private static let maximumLineLength = 1 << 20

  package init(seeking wanted: [ChainHash] = []) {
    self.wanted = wanted
    found = wanted.map { _ in nil }
  }

  package mutating func receive(_ bytes: Span<UInt8>) throws(Fault) {
    var start = 0
    for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
      if file.partialLine.isEmpty {
        try verifyLine(bytes.extracting(start..<index))
      } else {
        carry(bytes.extracting(start..<index))
        let whole = file.partialLine
        file.partialLine.removeAll()
        try verifyLine(whole.span)
      }
      start = index + 1
    }
    carry(bytes.extracting(start...))
    guard file.partialLine.count <= AuditVerifier.maximumLineLength else {
      throw Fault(line: file.line + 1, message: "expected \(next), found a line that is longer than any record")
    }
  }

  /// Ends the current file. Later bytes belong to the next file.
  package mutating func finish() throws(Fault) {
    let rest = file.partialLine
    file.partialLine.removeAll()
    // The last record can be complete except for its newline.
    if !rest.isEmpty { try verifyLine(rest.span) }
    isCutOff = !rest.isEmpty || file.fragments > 0
    file = FileProgress()
  }

  private mutating func carry(_ bytes: Span<UInt8>) {
    // A power failure can leave long sequences of zero bytes. One byte of them is enough.
    for index in bytes.indices where bytes[index] != 0 || file.partialLine.last != 0 {
      file.partialLine.append(bytes[index])
    }
  }

  private mutating func verifyLine(_ whole: Span<UInt8>) throws(Fault) {
    file.line += 1
    var count = whole.count
    while count > 0, whole[count - 1] == 0 { count -= 1 }
    let bytes = whole.extracting(..<count)
    guard let parsed = AuditLine(bytes) else { return try verifyFragment(bytes) }
    let isOpened = parsed.isOpened
    guard isOpened || !file.endsInZeros else {
      throw Fault(line: file.line - 1, message: "zero bytes follow this record")
    }
    file.endsInZeros = count < whole.count
    let declared = isOpened ? AuditLine.value(of: "torn", in: bytes) ?? "0" : "0"
    guard declared == String(file.fragments) else {
      if file.fragments == 0 {
        throw fault("torn=\(declared) counts incomplete lines before this one, but there are none")
      }
      file.line -= 1
      throw tornFault
    }
    torn += UInt64(file.fragments)
    file.fragments = 0
    if file.isAtBeginning { try begin(parsed, bytes, isOpened: isOpened) }
    file.isAtBeginning = false
    guard parsed.number == chain.count &+ 1 else {
      throw fault("expected \(next), found n=\(parsed.number)")
    }
    let before = chain.head
    guard chain.advance(over: bytes.extracting(..<parsed.recordCount)), chain.head == parsed.chain else {
      throw fault(
        "expected chain=\(chain.head) after \(before), found chain=\(parsed.chain): this record was changed, or the chain value of the record before it"
      )
    }
    records += 1
    if parsed.isDropped { dropped &+= AuditLine.value(of: "count", in: bytes).flatMap { UInt64($0) } ?? 0 }
    recordMatch()
    if records == 1 { firstTime = AuditLine.value(of: "time", in: bytes) ?? "" }
    lastRecord.removeAll(keepingCapacity: true)
    lastRecord.append(span: bytes)
  }

  /// Checks that an incomplete line is the beginning of the next record.
  private mutating func verifyFragment(_ bytes: Span<UInt8>) throws(Fault) {
    let number = records == 0 ? nil : chain.count &+ 1
    guard AuditLine.isFragment(bytes, ofNumber: number, isOpened: file.fragments > 0) else {
      throw fault(
        "expected \(next), found a line that is neither a record nor the remains of this record after a crash")
    }
    file.fragments += 1
  }

  /// Checks that the first record of a file continues the previous file.
  private mutating func begin(_ parsed: AuditLine, _ bytes: Span<UInt8>, isOpened: Bool) throws(Fault) {
    guard isOpened, let previous = AuditLine.value(of: "previous", in: bytes) else {
      throw fault("expected the first record of a file (event=opened), found n=\(parsed.number)")
    }
    if records > 0 {
      guard previous == "\(chain.head)" else {
        throw fault(
          "expected previous=\(chain.head), the end of the file before, found previous=\(previous): a file is missing between the two, the end of the file before is missing, or this file was begun when there was no other"
        )
      }
      return
    }
    first = parsed.number
    if previous == "none" { return }
    guard let head = ChainHash(parsing: previous) else {
      throw fault("expected a chain value in previous=, found \"\(previous)\"")
    }
    chain = AuditChain(count: parsed.number &- 1, head: head)
    self.previous = head
    recordMatch()
  }

  private mutating func recordMatch() {
    for (index, value) in wanted.enumerated() where value == chain.head { found[index] = chain.count }
  }

  private func fault(_ message: String) -> Fault { Fault(line: file.line, message: message) }

  private var next: String { records == 0 ? "n=1" : "n=\(chain.count &+ 1)" }

  /// The fault of a record that does not count the incomplete lines before it.
  private var tornFault: Fault {
    Fault(
      line: file.line + 1 - UInt64(file.fragments),
      message: "expected \(next), found an incomplete record that the next record does not count in torn=")
  }
}
