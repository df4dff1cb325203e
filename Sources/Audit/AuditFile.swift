internal import System

/// An audit file, held by us alone, and where its chain goes on.
package struct AuditFile: Sendable {
  package let path: String
  /// Device and inode: whether it is the file that somebody else sees under its path.
  package let device: UInt64
  package let inode: UInt64
  let file: AppendFile
  /// After the last whole record; nil: there is none.
  let end: AuditChain?
  /// Lines after that, which a crash or a full disk has cut off.
  let torn: Int
  /// Its last line has no end.
  let isUnended: Bool

  /// How much of its end is read. No record is nearly as long.
  private static let tailCount = 1 << 18

  /// Opens it, or makes it.
  package init(path: String) throws(AuditFileError) {
    self.path = path
    do throws(SystemError) {
      file = try AppendFile(path: path)
      let status = try file.status()
      (device, inode) = (status.device, status.inode)
      let isWhole = status.size <= Int64(AuditFile.tailCount)
      let tail = try file.read(
        from: isWhole ? 0 : status.size - Int64(AuditFile.tailCount), maximum: AuditFile.tailCount)
      isUnended = !tail.isEmpty && tail.last != UInt8(ascii: "\n")
      (end, torn) = AuditFile.lastRecord(of: tail, isWhole: isWhole)
      let beginning = try file.read(from: 0, maximum: 2)
      guard "n=".utf8.starts(with: beginning), end != nil || isWhole else {
        throw SystemError(operation: "it holds something else than records of bearerd", errno: 0)
      }
    } catch {
      throw AuditFileError(path: path, error)
    }
  }

  /// Whether its path still leads to it: it may have been renamed, to begin another one.
  package var isInPlace: Bool { file.isInPlace }

  private static func lastRecord(of tail: [UInt8], isWhole: Bool) -> (AuditChain?, torn: Int) {
    var (torn, lineEnd) = (0, tail.count)
    if tail.last == UInt8(ascii: "\n") { lineEnd -= 1 }
    while lineEnd > 0 {
      let newline = tail[..<lineEnd].lastIndex(of: UInt8(ascii: "\n"))
      // Of a line that begins further ahead nothing can be said.
      guard newline != nil || isWhole else { break }
      let start = newline.map { $0 + 1 } ?? 0
      if let line = AuditLine(tail.span.extracting(start..<lineEnd)) { return (AuditChain(after: line), torn) }
      torn += 1
      lineEnd = newline ?? 0
    }
    return (nil, torn)
  }
}

/// Why a file cannot be the audit file.
package struct AuditFileError: Error, CustomStringConvertible {
  package let description: String

  init(path: String, _ error: SystemError) {
    description = "audit file \(path): " + (error.isHeldByAnother ? AuditFileError.held : error.reason)
  }

  private static let held = "another bearerd writes it; each needs a file of its own"
}

extension SystemError {
  fileprivate var reason: String { errno == 0 ? operation : description }
}
