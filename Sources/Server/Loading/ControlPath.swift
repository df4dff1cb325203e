internal import System

package enum ControlPath {
  private static let systemDirectory = "/run/bearerd"
  package static let ofSystem = systemDirectory + "/control.sock"

  /// The default control socket of the current user. `nil` if a user with a uid from 1000 has no `$XDG_RUNTIME_DIR`.
  package static var standard: String? {
    if Users.currentUID < 1000 {
      return (ProcessEnvironment.value("RUNTIME_DIRECTORY") ?? systemDirectory) + "/control.sock"
    }
    // Not $RUNTIME_DIRECTORY: the daemon has this variable, but a shell of the same user does not.
    return ProcessEnvironment.value("XDG_RUNTIME_DIR").map { $0 + "/bearerd-control.sock" }
  }

  /// Returns the default control socket of the daemon that uses the configuration `file`.
  package static func standard(of file: String) -> String? {
    file == ConfigurationLoader.systemFile && Users.currentUID >= 1000 ? ofSystem : standard
  }
}
