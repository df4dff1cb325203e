internal import System

/// The audit file as a start would find it, as far as the user who looks may see. Nothing is made or changed;
/// whether another bearerd writes it is not looked at.
package struct AuditInspection: Sendable {
  /// Why a start would fail.
  package let problem: AuditFileError?
  /// How far we could not look, and why.
  package let unseen: String?
  /// The only user who can write it; nil: that cannot be seen.
  package let writer: UInt32?
  package let isThere: Bool
  /// The number of its last record; nil: it could not be read.
  package let records: UInt64?

  /// The unit makes it when it starts (LogsDirectory=).
  package static let unitDirectory = "/var/log/bearerd"

  package init(path: String) {
    let file = AppendFileOutlook(path: path)
    (writer, isThere) = (file.writer, file.isThere)
    var (records, problem, unseen): (UInt64?, SystemError?, String?)
    switch file.verdict {
    case .fit: break
    case .unfit(let error) where error.isOfMissing && error.operation == AuditInspection.unitDirectory:
      unseen = "the systemd unit creates \(error.operation) when it starts"
    case .unfit(let error): problem = error
    case .unseen(let error): unseen = error.description
    }
    if problem == nil, let content = file.content {
      do throws(SystemError) {
        let end = try AuditTail(of: content)
        records = end.map { $0.chain?.count ?? 0 }
        if end == nil { problem = AuditFileError.strange }
      } catch {
        unseen = error.description
      }
    }
    self.records = records
    self.problem = problem.map { AuditFileError(path: path, $0) }
    self.unseen = unseen
  }
}
