internal import Console
internal import Audit
internal import System

/// The audit file as far as the user who runs `check` may know of it. What a start would refuse is an error by then.
struct AuditStatus: CustomStringConvertible {
  let description: String

  init(path: String) {
    let outlook = AuditInspection(path: path)
    var parts: [String] = []
    if outlook.isThere {
      parts.append("exists" + (outlook.records.map { ", with \(counted(Int(clamping: $0), "record"))" } ?? ""))
      if outlook.records == nil, outlook.unseen == nil {
        parts.append("its contents were not checked, because you may not read it")
      }
    } else if outlook.unseen == nil {
      parts.append("does not exist yet, bearerd creates it")
    }
    if let unseen = outlook.unseen { parts.append("not checked: \(unseen.harmless)") }
    if let writer = outlook.writer, let other = otherUser(writer) {
      parts.append("only a bearerd that runs as \(other) can write it, not one that you start")
    }
    description = "file \(path.harmless): " + parts.joined(separator: "; ")
  }
}

/// As a person knows them; nil: it is you.
func otherUser(_ uid: UInt32) -> String? {
  if uid == Users.currentUID { return nil }
  return Users.name(ofUID: uid).map { "\($0) (uid \(uid))" } ?? "uid \(uid)"
}
