internal import Console
internal import Audit
internal import System

/// The running daemon's word on its own file.
struct LiveAudit {
  private let audit: StatusDocument.Audit?
  /// A daemon was there and said what it writes, if anything.
  private let hasAnswered: Bool

  /// No daemon, or one without an audit file, is no error: most of what is verified is older.
  init(asking client: ControlClient?) {
    let status = client.flatMap { try? StatusDocument(asking: $0, seconds: 5) }
    audit = status?.audit
    hasAnswered = status != nil
  }

  var last: (number: UInt64, head: ChainHash)? {
    guard let audit, let head = ChainHash(parsing: audit.head), audit.records > 0 else { return nil }
    return (audit.records, head)
  }

  /// Whether it is this very file. One that stands in its place, and is not it, is not what it should be.
  func isWriting(_ path: String, _ status: FileStatus) throws -> Bool {
    guard let audit else { return false }
    if audit.device == status.device, audit.inode == status.inode { return true }
    guard audit.file != path else {
      throw Failure(
        Failure.no,
        "\(path.harmless): the running daemon does not write this file. It still writes the file that had this name before. After you rename or replace an audit file, run \"bearerctl reload\""
      )
    }
    return false
  }

  func remark(_ isLive: Bool) -> String {
    if isLive { return "the last record of the running daemon was found\n" }
    let who =
      hasAnswered
      ? "the running daemon does not write this file" : "no daemon answered (--control and --config select one)"
    return "\(who). To notice that the last records were cut off, use --head with a chain value from the log\n"
  }
}
