package import Configuration
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

  /// Where that line stands: a service with a port of its own takes its callers from a listener.
  package static func place(of listener: ListenerSettings) -> String { "listeners.\(listener.admission)" }

  private static let longestList = 8
}
