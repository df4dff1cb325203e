internal import Console
internal import Audit
internal import System

/// Returns a description of the audit file for `bearerctl check`.
func auditStatus(path: String) -> String {
  let inspection = AuditInspection(path: path)
  var parts: [String] = []
  if inspection.exists {
    parts.append("exists" + (inspection.records.map { ", with \(counted($0, "record"))" } ?? ""))
    if inspection.records == nil, inspection.uncheckedReason == nil {
      parts.append("its contents were not checked, because you may not read it")
    }
  } else if inspection.uncheckedReason == nil {
    parts.append("does not exist yet, bearerd creates it")
  }
  if let unseen = inspection.uncheckedReason { parts.append("not checked: \(unseen.harmless)") }
  if let writer = inspection.writer, let other = otherUser(writer) {
    parts.append("only a bearerd that runs as \(other) can write it, not one that you start")
  }
  return "file \(path.harmless): " + parts.joined(separator: "; ")
}

/// Returns the name and uid of a user as text; `nil` for the current user.
func otherUser(_ uid: UInt32) -> String? {
  if uid == Users.currentUID { return nil }
  return Users.name(ofUID: uid).map { "\($0) (uid \(uid))" } ?? "uid \(uid)"
}
