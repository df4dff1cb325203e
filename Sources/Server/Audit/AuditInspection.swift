internal import System

/// Checks whether bearerd could open the audit file. Changes no file.
package struct AuditInspection: Sendable {
  /// Why bearerd could not open the file. `nil` if no problem was found.
  package let problem: AuditFileError?
  /// Why the check is incomplete. `nil` if it is complete.
  package let uncheckedReason: String?
  /// The only user who can write the file. `nil` if unknown.
  package let writer: UInt32?
  package let exists: Bool
  /// The number of the last record. `nil` if the file could not be read.
  package let records: UInt64?

  /// The directory for the audit file that systemd creates.
  package static let unitDirectory = "/var/log/bearerd"

  package init(path: String) {
    let file = AppendFileCheck(path: path)
    (writer, exists) = (file.writer, file.exists)
    var (records, problem, uncheckedReason): (UInt64?, SystemError?, String?)
    switch file.verdict {
    case .usable: break
    case .unusable(let error) where error.isNotFound && error.operation == AuditInspection.unitDirectory:
      uncheckedReason = "the systemd unit creates \(error.operation) when it starts"
    case .unusable(let error): problem = error
    case .unknown(let error): uncheckedReason = error.description
    }
    if problem == nil, let content = file.content {
      do throws(SystemError) {
        let end = try AuditTail(of: content)
        records = end.map { $0.chain?.count ?? 0 }
        if end == nil { problem = AuditFileError.foreignContent }
      } catch {
        uncheckedReason = error.description
      }
    }
    self.records = records
    self.problem = problem.map { AuditFileError(path: path, $0) }
    self.uncheckedReason = uncheckedReason
  }
}
