internal import System

/// The end of an audit file, from which the chain continues.
struct AuditTail {
  /// The chain after the last complete record. `nil` if there is none.
  let chain: AuditChain?
  /// Number of incomplete lines after the last complete record.
  let torn: Int
  let lacksNewline: Bool

  /// Number of bytes to read at the end of the file.
  private static let tailBytes = 1 << 18

  /// Reads the end of the file. `nil` if the file does not look like an audit file.
  init?(of file: OpenedFile) throws(SystemError) {
    let size = try file.status().size
    let written = try AuditTail.sizeWithoutZeros(file, size)
    let start = max(0, written - Int64(AuditTail.tailBytes))
    let tail = try file.read(from: start, maximum: Int(written - start))
    lacksNewline = size > 0 && (written < size || tail.last != UInt8(ascii: "\n"))
    // Zeros after a complete line replace at least one line, which counts as incomplete.
    let hasLostLine = written < size && (tail.isEmpty || tail.last == UInt8(ascii: "\n"))
    guard let (chain, torn) = AuditTail.lastRecord(of: tail, isWhole: start == 0) else { return nil }
    (self.chain, self.torn) = (chain, torn + (hasLostLine ? 1 : 0))
    let beginning = try file.read(from: 0, maximum: Int(min(2, written)))
    guard "n=".utf8.starts(with: beginning) else { return nil }
  }

  /// Returns the file's size without zero bytes at the end.
  private static func sizeWithoutZeros(_ file: OpenedFile, _ size: Int64) throws(SystemError) -> Int64 {
    // After a power failure, some file systems have zero bytes in place of the last data.
    var end = size
    while end > 0 {
      let start = max(0, end - Int64(tailBytes))
      let piece = try file.read(from: start, maximum: Int(end - start))
      if let last = piece.lastIndex(where: { $0 != 0 }) { return start + Int64(last) + 1 }
      end = start
    }
    return 0
  }

  /// Returns the chain after the last record and the number of incomplete lines after it, or `nil` for an invalid file.
  private static func lastRecord(of tail: [UInt8], isWhole: Bool) -> (AuditChain?, torn: Int)? {
    var (torn, lineEnd) = (0, tail.count)
    if tail.last == UInt8(ascii: "\n") { lineEnd -= 1 }
    while lineEnd > 0 {
      let newline = tail[..<lineEnd].lastIndex(of: UInt8(ascii: "\n"))
      // The line begins before the tail, and cannot be checked.
      guard newline != nil || isWhole else { return nil }
      let start = newline.map { $0 + 1 } ?? 0
      if let line = AuditLine(tail.span.extracting(start..<lineEnd)) { return (AuditChain(after: line), torn) }
      torn += 1
      lineEnd = newline ?? 0
    }
    return isWhole ? (nil, torn) : nil
  }
}
