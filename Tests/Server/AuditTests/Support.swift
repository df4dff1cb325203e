import Audit
import Foundation
import TestSupport
import Testing

/// An audit file that the test's own thread writes with the daemon's writer.
final class AuditStage {
  let scratch: Scratch
  let path: String

  init() throws {
    scratch = try Scratch()
    path = scratch.path + "/audit.log"
  }

  /// Opens the file, writes `records` records, and closes it.
  func write(records: Int, at path: String? = nil) throws {
    let writer = AuditWriter(try AuditFile(path: path ?? self.path), version: "1") {}
    writer.record(0..<records)
    writer.close()
    writer.run()
  }

  var lines: [String] {
    get throws { try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init) }
  }

  func replace(_ lines: [String]) throws {
    try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: false, encoding: .utf8)
  }

  func verify(seeking wanted: [ChainHash] = [], piece: Int = 1 << 16) throws(AuditVerifier.Fault) -> AuditVerifier {
    var verifier = AuditVerifier(seeking: wanted)
    // Reading a whole file through Foundation leaks memory if the file is empty.
    let bytes = Array((try? FileHandle(forReadingAtPath: path)?.readToEnd()) ?? Data())
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try verifier.receive(bytes[start..<min(start + piece, bytes.count)].span)
    }
    try verifier.finish()
    return verifier
  }

  /// The line at which the chain breaks, or `nil` if the chain is intact.
  func fault() -> UInt64? {
    do throws(AuditVerifier.Fault) {
      _ = try verify()
      return nil
    } catch {
      return error.line
    }
  }
}

extension AuditWriter {
  func record(_ numbers: Range<Int>, isPromised: Bool = false) {
    let time = Array("2026-11-21T05:12:08.123Z".utf8)
    for number in numbers {
      append(
        time.span, Array("level=info event=request path=/x/\(number) status=200\n".utf8).span, isGuaranteed: isPromised)
    }
  }
}

/// Returns the value of `chain` in a line.
func chain(of line: String) throws -> ChainHash {
  try #require(ChainHash(parsing: String(line.suffix(43))))
}
