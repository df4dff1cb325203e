internal import Glibc

/// The place where the daemon keeps what has to outlive it.
package enum StateDirectory {
  /// systemd's `StateDirectory=` (the first of several), else `bearerd` in the user's own (XDG Base Directory Specification);
  /// absolute. nil: nothing says so.
  package static var path: String? {
    if let units = ProcessEnvironment.value("STATE_DIRECTORY"), let first = units.split(separator: ":").first,
      first.hasPrefix("/")
    {
      return String(first)
    }
    if let base = ProcessEnvironment.value("XDG_STATE_HOME"), base.hasPrefix("/") { return base + "/bearerd" }
    guard let home = ProcessEnvironment.value("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.local/state/bearerd"
  }

  /// Makes it (0700), and what leads to it, if this file is to be directly in it: other places are for people to make. What is
  /// wrong shows when the file is written. Takes as long as the file system takes.
  package static func make(for file: String) {
    guard let path, file.hasPrefix(path + "/"), !file.dropFirst(path.utf8.count + 1).contains("/") else { return }
    var prefix = ""
    for component in path.split(separator: "/") {
      prefix += "/" + component
      mkdir(prefix, 0o700)
    }
  }
}
