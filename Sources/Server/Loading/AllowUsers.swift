package import Policy
internal import Primitives

package enum AllowUsers {
  /// Returns an `allow_users` line with the users of `callers`, followed by `uid`.
  /// - Parameter name: returns the name of a user, or `nil` if it is unknown.
  package static func line(
    adding uid: UInt32, to callers: Callers?, named name: (UInt32) -> String?
  ) -> String {
    let members = callers?.members ?? []
    let present = (callers?.uids ?? []).subtracting(members).subtracting([uid]).sorted()
    let names = (present.prefix(longestList) + [uid]).map { uid in name(uid).map(quoted) ?? String(uid) }
    let line = "allow_users: [\(present.count > longestList ? "…, " : "")\(names.joined(separator: ", "))]"
    return members.isEmpty ? line : line + "  # beside allow_groups"
  }

  private static let longestList = 8

  /// Quotes a name if YAML would not read it as plain text.
  private static func quoted(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "_-.".utf8.contains($0) }
    let isWord = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(name.lowercased())
    if isPlain, !isWord, !name.hasPrefix("-"), !name.isEmpty { return name }
    return "'" + name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }
}
