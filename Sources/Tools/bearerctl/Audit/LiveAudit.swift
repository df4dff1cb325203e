internal import Console
internal import Audit
internal import StatusModel
internal import System

/// The audit file that the running daemon reports in its status.
struct LiveAudit {
  /// `nil` if no daemon responds.
  private let status: DaemonStatus?

  init(asking client: ControlClient?) { status = client.flatMap { try? $0.status(seconds: 5) } }

  /// Number and chain value of the last record that the daemon wrote; `nil` if unknown.
  var last: (number: UInt64, head: ChainHash)? {
    guard let audit = status?.audit, let head = ChainHash(parsing: audit.head), audit.records > 0 else { return nil }
    return (audit.records, head)
  }

  /// Whether the daemon writes to this file. Throws if another file has replaced the daemon's file at this path.
  func isWriting(_ path: String, _ status: FileStatus) throws -> Bool {
    guard let audit = self.status?.audit else { return false }
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
      status != nil
      ? "the running daemon does not write this file" : "no daemon answered (--control and --config select one)"
    return "\(who). To notice that the last records were cut off, use --head with a chain value from the log\n"
  }
}
