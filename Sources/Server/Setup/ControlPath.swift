internal import System

/// The default path of the control socket, for configurations that do not set a path.
package enum ControlPath {
  private static let systemDirectory = "/run/bearerd"
  package static let ofSystem = systemDirectory + "/control.sock"

  /// The default control socket of the current user. System users (uid below 1000) have it in `$RUNTIME_DIRECTORY`, or
  /// in `/run/bearerd` if this variable is not set. Other users have it in `$XDG_RUNTIME_DIR`. `nil` if they do not
  /// have this variable.
  package static var standard: String? {
    if Users.currentUID < 1000 {
      return (ProcessEnvironment.value("RUNTIME_DIRECTORY") ?? systemDirectory) + "/control.sock"
    }
    // Not $RUNTIME_DIRECTORY: the daemon has this variable, but a shell of the same user does not.
    return ProcessEnvironment.value("XDG_RUNTIME_DIR").map { $0 + "/bearerd-control.sock" }
  }

  /// Returns the default control socket of the daemon that uses the configuration `file`. For the system's
  /// configuration, this is the system daemon's socket, even if another user runs `bearerctl`.
  package static func standard(of file: String) -> String? {
    file == ConfigurationLoader.systemFile && Users.currentUID >= 1000 ? ofSystem : standard
  }
}
