internal import Glibc

package enum StateDirectory {
  /// The state directory, as an absolute path: $STATE_DIRECTORY, or `bearerd` in the user's XDG state directory. `nil`
  /// if the environment defines neither.
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

  /// If `file` is directly in the state directory, creates that directory and its parents (0700). Ignores errors.
  /// Blocks.
  package static func create(for file: String) {
    guard let path, file.hasPrefix(path + "/"), !file.dropFirst(path.count + 1).contains("/") else { return }
    var prefix = ""
    for component in path.split(separator: "/") {
      prefix += "/" + component
      mkdir(prefix, 0o700)
    }
  }
}
