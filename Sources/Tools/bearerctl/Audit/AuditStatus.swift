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
      parts.append("there" + (outlook.records.map { ", with \(counted(Int(clamping: $0), "record"))" } ?? ""))
      if outlook.records == nil, outlook.unseen == nil {
        parts.append("what it holds was not judged: you may not read it")
      }
    } else if outlook.unseen == nil {
      parts.append("not there yet; bearerd makes it")
    }
    if let unseen = outlook.unseen { parts.append("not judged: \(unseen.harmless)") }
    if let writer = outlook.writer, let other = otherUser(writer) {
      parts.append("only a bearerd that runs as \(other) can write it, and you are another user")
    }
    description = "file \(path.harmless): " + parts.joined(separator: "; ")
  }
}

/// As a person knows them; nil: it is you.
func otherUser(_ uid: UInt32) -> String? {
  if uid == Users.currentUID { return nil }
  return Users.name(ofUID: uid).map { "\($0) (uid \(uid))" } ?? "uid \(uid)"
}
