internal import Primitives

package enum SystemdUnit {
  /// Returns the unit of a control group, such as `ssh.service` for `/system.slice/ssh.service/anything`, or
  /// `user@1000.service/mail.service` for a unit of a user. `nil` if the group belongs to no unit.
  /// - Parameter controlGroup: the path from the root, as in `/proc/PID/cgroup`.
  package static func name(of controlGroup: String) -> String? {
    var groups = controlGroup.split(separator: "/")[...]
    guard let outer = next(&groups) else { return nil }
    guard outer.hasPrefix("user@"), outer.hasSuffix(".service"), let inner = next(&groups) else { return outer }
    return "\(outer)/\(inner)"
  }

  /// Removes all leading `*.slice` groups and the group after them. Returns this group if it is a service or scope,
  /// otherwise `nil`.
  private static func next(_ groups: inout ArraySlice<Substring>) -> String? {
    groups = groups.drop { $0.hasSuffix(".slice") }
    guard let name = groups.popFirst(), name.hasSuffix(".service") || name.hasSuffix(".scope"),
      name.utf8.count <= maximumLength, name.utf8.allSatisfy(isUnitNameCharacter)
    else { return nil }
    return String(name)
  }

  /// Maximum length of a unit name in bytes (UNIT_NAME_MAX of systemd).
  private static let maximumLength = 255
  private static func isUnitNameCharacter(_ byte: UInt8) -> Bool {
    ASCII.isLetterOrDigit(byte) || ":-_.\\@".utf8.contains(byte)
  }
}
