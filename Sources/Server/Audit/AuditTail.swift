internal import System

/// The place where the chain of a file goes on.
struct AuditTail {
  /// After the last whole record; nil: there is none.
  let chain: AuditChain?
  /// Lines after that, which are no records.
  let torn: Int
  /// Its last line has no end.
  let isUnended: Bool

  /// How much of its end is read. No record is nearly as long.
  private static let tailCount = 1 << 18

  /// nil: it holds something else than records.
  init?(of file: OpenedFile) throws(SystemError) {
    let size = try file.status().size
    let written = try AuditTail.sizeWithoutZeros(file, size)
    let start = max(0, written - Int64(AuditTail.tailCount))
    let tail = try file.read(from: start, maximum: Int(written - start))
    isUnended = size > 0 && (written < size || tail.last != UInt8(ascii: "\n"))
    // The rest of a line, when zeros have the place of some of it, or even of all of it, is a line that was cut off.
    let hasLostLine = written < size && (tail.isEmpty || tail.last == UInt8(ascii: "\n"))
    guard let (chain, torn) = AuditTail.lastRecord(of: tail, isWhole: start == 0) else { return nil }
    (self.chain, self.torn) = (chain, torn + (hasLostLine ? 1 : 0))
    let beginning = try file.read(from: 0, maximum: Int(min(2, written)))
    guard "n=".utf8.starts(with: beginning) else { return nil }
  }

  /// After a loss of power some file systems have zeros where the last data should be. No record has any.
  private static func sizeWithoutZeros(_ file: OpenedFile, _ size: Int64) throws(SystemError) -> Int64 {
    var end = size
    while end > 0 {
      let start = max(0, end - Int64(tailCount))
      let piece = try file.read(from: start, maximum: Int(end - start))
      if let last = piece.lastIndex(where: { $0 != 0 }) { return start + Int64(last) + 1 }
      end = start
    }
    return 0
  }

  /// nil: the tail has none, and is not the whole file.
  private static func lastRecord(of tail: [UInt8], isWhole: Bool) -> (AuditChain?, torn: Int)? {
    var (torn, lineEnd) = (0, tail.count)
    if tail.last == UInt8(ascii: "\n") { lineEnd -= 1 }
    while lineEnd > 0 {
      let newline = tail[..<lineEnd].lastIndex(of: UInt8(ascii: "\n"))
      // Nothing can be said of a line that begins further ahead.
      guard newline != nil || isWhole else { return nil }
      let start = newline.map { $0 + 1 } ?? 0
      if let line = AuditLine(tail.span.extracting(start..<lineEnd)) { return (AuditChain(after: line), torn) }
      torn += 1
      lineEnd = newline ?? 0
    }
    return isWhole ? (nil, torn) : nil
  }
}
