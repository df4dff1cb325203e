internal import Console
internal import Audit
internal import Glibc
internal import System

/// Verifies the hash chain through one or more audit files.
final class AuditCheck {
  private struct File {
    let path: String
    let stream: FileStream
    /// Numbers of the first and last audit record in the file; `nil` if none was read.
    var numbers: ClosedRange<UInt64>?
  }

  private var files: [File] = []
  private var verifier = AuditVerifier()
  private var wanted: ChainHash?

  /// Number of bytes between two updates of the progress display.
  private static let large: Int64 = 1 << 26

  /// - Parameter paths: The audit files, the oldest first.
  init(_ paths: [String]) throws {
    for path in paths {
      do throws(SystemError) {
        files.append(File(path: path, stream: try FileStream(path: path)))
      } catch {
        throw Failure(Failure.noInput, "\(path.harmless): \(error)")
      }
    }
  }

  func isLive(_ live: LiveAudit) throws -> Bool {
    var isLive = false
    for file in files where try live.isWriting(file.path, file.stream.status) { isLive = true }
    return isLive
  }

  /// Verifies all files, and throws a `Failure` at the first fault or if one of the given records is missing.
  func run(seeking wanted: ChainHash?, last: (number: UInt64, head: ChainHash)?) throws {
    self.wanted = wanted
    verifier = AuditVerifier(seeking: [wanted, last?.head].compactMap(\.self))
    for index in files.indices { try read(index) }
    if let last, verifier.found.last == .some(nil) {
      throw missing("the running daemon has written n=\(last.number) chain=\(last.head)")
    }
    if let wanted, verifier.found.first == .some(nil) { throw missing("--head is chain=\(wanted)") }
  }

  private func missing(_ what: String) -> Failure {
    let end = verifier.records == 0 ? "no record" : "n=\(verifier.last) chain=\(verifier.head)"
    return Failure(
      Failure.no,
      "\(files.last?.path.harmless ?? ""): \(what), but this record is not in the file. The chain is intact and ends with \(end). So lines were cut off, or the whole file was written again"
    )
  }

  private func read(_ index: Int) throws {
    let path = files[index].path
    let before = verifier.records
    do {
      try readAll(files[index].stream)
      try verifier.finish()
    } catch let fault as AuditVerifier.Fault {
      throw Failure(Failure.no, "\(path.harmless):\(fault.line): \(fault.message.harmless)")
    } catch let error as SystemError {
      throw Failure(Failure.system, "\(path.harmless): \(error)")
    }
    let count = verifier.records - before
    if count > 0 { files[index].numbers = verifier.last - count + 1...verifier.last }
  }

  private func readAll(_ stream: FileStream) throws {
    let size = stream.status.size
    let showsProgress = size >= AuditCheck.large && isatty(STDERR_FILENO) == 1
    var (done, fault): (Int64, AuditVerifier.Fault?) = (0, nil)
    while fault == nil,
      try stream.next({ bytes in
        let before = done / AuditCheck.large
        done += Int64(bytes.count)
        do throws(AuditVerifier.Fault) { try verifier.receive(bytes) } catch { fault = error }
        if showsProgress, done / AuditCheck.large > before {
          Terminal.printError("\r\(done * 100 / max(done, size)) %")
        }
      })
    {}
    if showsProgress { Terminal.printError("\r     \r") }
    if let fault { throw fault }
  }

  var text: String {
    var text = files.map(line).joined()
    if files.count > 1 { text += "one chain: \(counted(verifier.records, "record"))\n" }
    if verifier.records > 0 {
      text += "first  n=\(verifier.first)  \(verifier.firstTime.harmless)\n"
      text += "last   n=\(verifier.last)  \(verifier.lastTime.harmless)\n"
      text += "head   \(verifier.head)\n"
      if let previous = verifier.previous {
        text +=
          "records before n=\(verifier.first) were not verified: an earlier file must end with n=\(verifier.first &- 1) chain=\(previous), or records were cut off\n"
      }
    }
    if verifier.dropped > 0 {
      text += "\(counted(verifier.dropped, "record")) lost, because bearerd had no room (the file says so)\n"
    }
    if verifier.torn > 0 {
      text += "\(counted(verifier.torn, "line")) cut off by a crash or a full disk (the next record says so)\n"
    }
    if verifier.isCutOff { text += "the last line is incomplete: it was cut off, or bearerd is writing it now\n" }
    if wanted != nil, let number = verifier.found.first ?? nil {
      text +=
        "the record of --head is n=\(number), with \(counted(verifier.last &- number, "record")) after it\n"
    }
    return text
  }

  private func line(_ file: File) -> String {
    let count = counted(file.numbers.map { Int(clamping: $0.upperBound - $0.lowerBound) + 1 } ?? 0, "record")
    let numbers = files.count > 1 ? file.numbers.map { ", n=\($0.lowerBound) to n=\($0.upperBound)" } ?? "" : ""
    return "\(file.path.harmless): \(Terminal.output.good("intact")): \(count)\(numbers)\n"
  }
}
