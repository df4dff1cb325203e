/// The unit of systemd that a control group stands for.
package enum SystemdUnit {
  /// `ssh.service` for `/system.slice/ssh.service/anything`: the outermost one, whose name the system's manager has given.
  /// Below, the user that the unit runs as may make groups of any name. Where that is systemd for one user, the name that it gave
  /// stands behind its own: `user@1000.service/mail.service`.
  /// - Parameter controlGroup: from the root, as in `/proc/PID/cgroup`.
  package static func name(of controlGroup: String) -> String? {
    var groups = controlGroup.split(separator: "/")[...]
    guard let outer = next(&groups) else { return nil }
    guard outer.hasPrefix("user@"), outer.hasSuffix(".service"), let inner = next(&groups) else { return outer }
    return "\(outer)/\(inner)"
  }

  /// The first one below the slices.
  private static func next(_ groups: inout ArraySlice<Substring>) -> String? {
    groups = groups.drop { $0.hasSuffix(".slice") }
    guard let name = groups.popFirst(), name.hasSuffix(".service") || name.hasSuffix(".scope"),
      name.utf8.count <= longest, name.utf8.allSatisfy(isOfUnits)
    else { return nil }
    return String(name)
  }

  /// systemd.unit(5): what unit names are made of, and UNIT_NAME_MAX.
  private static let longest = 255
  private static func isOfUnits(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "@"):
      true
    default: false
    }
  }
}
