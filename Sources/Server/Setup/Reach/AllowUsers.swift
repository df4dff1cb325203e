package import Policy

/// The line of a configuration that lets one user more in.
package enum AllowUsers {
  /// Who is named already, and `uid`; `allow_groups` stays as it is.
  package static func line(
    adding uid: UInt32, to callers: Callers?, named name: (UInt32) -> String?
  ) -> String {
    let members = callers?.members ?? []
    let present = (callers?.uids ?? []).subtracting(members).subtracting([uid]).sorted()
    let names = (present.prefix(longestList) + [uid]).map { uid in name(uid).map(written) ?? String(uid) }
    let line = "allow_users: [\(present.count > longestList ? "…, " : "")\(names.joined(separator: ", "))]"
    return members.isEmpty ? line : line + "  # beside allow_groups"
  }

  private static let longestList = 8

  /// In quotes where YAML would read something else, as in `DOMAIN\someone`.
  private static func written(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    let isWord = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(name.lowercased())
    if isPlain, !isWord, !name.hasPrefix("-"), !name.isEmpty { return name }
    return "'" + name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }
}
