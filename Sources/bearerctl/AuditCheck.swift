internal import Audit
internal import Glibc
internal import System

/// One file, from its first line to its last.
final class AuditCheck {
  /// Of the file that is read.
  let status: FileStatus
  private let path: String
  private let stream: FileStream
  private var verifier = AuditVerifier()
  private var wanted: ChainValue?
  private var last: (number: UInt64, head: ChainValue)?

  /// From so many bytes on it takes long enough to want to see how far it is.
  private static let large: Int64 = 1 << 26

  init(_ path: String) throws {
    self.path = path
    do throws(SystemError) {
      stream = try FileStream(path: path)
    } catch {
      throw Failure(Failure.noInput, "\(path.harmless): \(error)")
    }
    status = stream.status
  }

  /// - Parameters:
  ///   - wanted: what `--head` says.
  ///   - last: what the daemon says that it wrote last.
  func run(seeking wanted: ChainValue?, last: (number: UInt64, head: ChainValue)?) throws {
    (self.wanted, self.last) = (wanted, last)
    verifier = AuditVerifier(seeking: [wanted, last?.head].compactMap(\.self))
    do {
      try readAll()
      try verifier.finish()
    } catch let fault as AuditVerifier.Fault {
      throw Failure(Failure.no, "\(path.harmless):\(fault.line): \(fault.message.harmless)")
    } catch let error as SystemError {
      throw Failure(Failure.system, "\(path.harmless): \(error)")
    }
    if let last, verifier.found.last == .some(nil) {
      throw missing("the running daemon has written n=\(last.number) chain=\(last.head)")
    }
    if let wanted, verifier.found.first == .some(nil) { throw missing("wanted chain=\(wanted)") }
  }

  private func missing(_ what: String) -> Failure {
    let end = verifier.records == 0 ? "no record" : "n=\(verifier.last) chain=\(verifier.head)"
    return Failure(
      Failure.no,
      "\(path.harmless): \(what), which is not here: the chain holds, and ends with \(end), so that lines were cut off or all of it was written anew"
    )
  }

  private func readAll() throws {
    let shows = status.size >= AuditCheck.large && isatty(STDERR_FILENO) == 1
    var (done, fault): (Int64, AuditVerifier.Fault?) = (0, nil)
    while fault == nil,
      try stream.next({ bytes in
        let before = done / AuditCheck.large
        done += Int64(bytes.count)
        do throws(AuditVerifier.Fault) { try verifier.take(bytes) } catch { fault = error }
        if shows, done / AuditCheck.large > before { Terminal.complain("\r\(done * 100 / max(done, status.size)) %") }
      })
    {}
    if shows { Terminal.complain("\r     \r") }
    if let fault { throw fault }
  }

  var text: String {
    let terminal = Terminal.output
    var text = "\(path.harmless): \(terminal.good("whole")): \(counted(Int(clamping: verifier.records), "record"))\n"
    if verifier.records > 0 {
      text += "first  n=\(verifier.first)  \(verifier.firstTime.harmless)\n"
      text += "last   n=\(verifier.last)  \(verifier.lastTime.harmless)\n"
      text += "head   \(verifier.head)\n"
      if let previous = verifier.previous {
        text +=
          "what came before n=\(verifier.first) is not here: an earlier file has to end with n=\(verifier.first &- 1) chain=\(previous), or it was cut off\n"
      }
    }
    if verifier.dropped > 0 {
      text += "\(counted(Int(clamping: verifier.dropped), "record")) lost for want of room, as the file says\n"
    }
    if verifier.torn > 0 {
      text +=
        "\(counted(Int(clamping: verifier.torn), "line")) cut off by a crash or a full disk, as the record after says\n"
    }
    if verifier.isCutOff { text += "the last line is cut off, or being written\n" }
    if wanted != nil, let number = verifier.found.first ?? nil {
      text += "--head is n=\(number); \(counted(Int(clamping: verifier.last &- number), "record")) came after it\n"
    }
    return text
  }
}

/// What the daemon that runs says of its own file.
struct LiveAudit {
  private let audit: StatusDocument.Audit?

  /// No daemon, or one without an audit file, is no error: most of what is verified is older.
  init(asking client: ControlClient?) {
    audit = client.flatMap { try? StatusDocument(asking: $0, seconds: 5) }?.audit
  }

  var last: (number: UInt64, head: ChainValue)? {
    guard let audit, let head = ChainValue(parsing: audit.head), audit.records > 0 else { return nil }
    return (audit.records, head)
  }

  /// Whether it is this very file. One that stands in its place, and is not it, is not what it should be.
  func isWriting(_ path: String, _ status: FileStatus) throws -> Bool {
    guard let audit else { return false }
    if audit.device == status.device, audit.inode == status.inode { return true }
    guard audit.file != path else {
      throw Failure(
        Failure.no,
        "\(path.harmless): the running daemon writes another file, which had this name: it was moved away or replaced (after moving it, bearerctl reload begins a new one)"
      )
    }
    return false
  }

  func remark(_ isLive: Bool) -> String {
    isLive
      ? "the running daemon's last record is in it\n"
      : "no running daemon writes it, so whether its end was cut off only a value from the log shows (--head)\n"
  }
}
