internal import System

/// The path of the control socket when the configuration does not say.
package enum ControlPath {
  private static let systemDirectory = "/run/bearerd"
  /// The control socket of a daemon of the system.
  package static let ofSystem = systemDirectory + "/control.sock"

  /// For a system daemon below `$RUNTIME_DIRECTORY` (systemd) or `/run/bearerd`, for a person's `$XDG_RUNTIME_DIR/bearerd-control.sock`; nil:
  /// nowhere.
  package static var standard: String? {
    if Users.currentUID < 1000 {
      return (ProcessEnvironment.value("RUNTIME_DIRECTORY") ?? systemDirectory) + "/control.sock"
    }
    // Not $RUNTIME_DIRECTORY, which a shell of the same person does not have.
    return ProcessEnvironment.value("XDG_RUNTIME_DIR").map { $0 + "/bearerd-control.sock" }
  }

  /// Returns the default control socket of the daemon that uses `file`. For an ordinary user and the system's file this is
  /// `/run/bearerd/control.sock`.
  package static func standard(of file: String) -> String? {
    file == ConfigurationLoader.systemFile && Users.currentUID >= 1000 ? ofSystem : standard
  }
}
