package import Policy

/// The line of a configuration that lets one user more in.
package enum AllowUsers {
  /// Who is let in already, and `uid`.
  package static func line(
    adding uid: UInt32, to callers: Callers?, named name: (UInt32) -> String?
  ) -> String {
    let present = (callers?.uids ?? []).subtracting([uid]).sorted()
    let names = (present.prefix(longestList) + [uid]).map { name($0) ?? String($0) }
    return "allow_users: [\(present.count > longestList ? "…, " : "")\(names.joined(separator: ", "))]"
  }

  private static let longestList = 8
}
