internal import Policy
import Primitives

/// Reads which users and clients may send requests: `allow_users`, `allow_groups` and `allow_clients`.
struct CallersReader: SectionReader {
  let context: ReadingContext

  private static let root: UInt32 = 0
  /// The uid that the kernel shows for users from another user namespace.
  private static let overflow: UInt32 = 65_534
  /// The lowest uid of a person (Debian policy 9.2.2).
  private static let firstPerson: UInt32 = 1000

  /// Reads all three keys, and returns `nil` if none is present.
  func callers(users: YAMLNode?, groups: YAMLNode?, clients: [ClientReference]?) -> Callers? {
    let callers = callers(users: users, groups: groups)
    guard callers != nil || clients != nil else { return nil }
    return Callers(
      uids: callers?.uids, members: callers?.members ?? [], clients: clients.map { Set($0.map(\.name)) })
  }

  /// Reads `allow_users` and `allow_groups`, and returns `nil` if neither is present.
  func callers(users: YAMLNode?, groups: YAMLNode?) -> Callers? {
    guard users != nil || groups != nil else { return nil }
    var uids: Set<UInt32> = []
    for node in users.flatMap({ filledList($0, of: "users (names or numbers)") }) ?? [] {
      if let uid = uid(node) { uids.insert(uid) }
    }
    var members: Set<UInt32> = []
    for node in groups.flatMap({ filledList($0, of: "groups (names or numbers)") }) ?? [] {
      members.formUnion(self.members(node))
    }
    return Callers(uids: uids.union(members), members: members.subtracting(uids))
  }

  /// The default callers of a listener: the user who runs the daemon, or `nil` for a system user.
  var defaultCallers: Callers? {
    let uid = environment.uid
    return uid >= Self.firstPerson && uid != Self.overflow ? Callers(uids: [uid]) : nil
  }

  private func uid(_ node: YAMLNode) -> UInt32? {
    guard let text = text(node, "a user's name or number") else { return nil }
    if text.utf8.allSatisfy(ASCII.isDigit) {
      // -1 means "no user in particular" to setuid(2) and its like.
      guard let number = decimal(text).flatMap({ UInt32(exactly: $0) }), number != UInt32.max else {
        return report.error(node.location, "\(quoted(text)) is not a uid")
      }
      return number
    }
    guard let uid = environment.userID(text) else {
      return report.error(node.location, "no user \(quoted(text)) on this machine")
    }
    return uid
  }

  /// Returns the uids of a group's members, except root and `overflow`.
  private func members(_ node: YAMLNode) -> Set<UInt32> {
    guard let text = text(node, "a group's name or number") else { return [] }
    guard let members = environment.groupMembers(text) else {
      report.error(node.location, "no group \(quoted(text)) on this machine")
      return []
    }
    let people = members.subtracting([Self.root, Self.overflow])
    if people.isEmpty {
      let isSpecial =
        members.isEmpty ? "has no members" : "has no members except root, and only allow_users can admit root"
      report.warning(node.location, "group \(quoted(text)) \(isSpecial)")
    }
    return people
  }
}
