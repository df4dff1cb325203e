internal import Console
internal import Configuration
internal import Setup
internal import System

/// A configuration as every command but `check` needs it: fine, or the end.
struct LoadedConfiguration {
  let file: String
  let settings: Settings
  /// Files of secrets that do not answer.
  let silent: Set<String>

  /// nil: the user's own, or the system's if there is none.
  init(_ option: String?) throws {
    file = absolute(option ?? LoadedConfiguration.usualFile)
    let user = try LoadedConfiguration.user(of: file)
    silent = try DryRun(file, as: user).silent
    do throws(LoadError) {
      settings = try ConfigurationLoader.load(file, as: user, silent: silent).settings
    } catch {
      for finding in error.diagnostics where finding.severity == .error { Terminal.complain("\(finding)\n\n") }
      throw Failure(Failure.usage, "this configuration cannot be used. \"bearerctl check \(file)\" shows all findings")
    }
  }

  private static var usualFile: String {
    let own = ConfigurationLoader.defaultFile
    let isMissing = FileStatus(path: own) == nil && FileStatus(path: ConfigurationLoader.systemFile) != nil
    return isMissing ? ConfigurationLoader.systemFile : own
  }

  /// Returns the user for whom a file is checked. For the system's file, that is the daemon's user. For any other file, it is the
  /// file's owner if root runs the check. Returns `nil` for the current user.
  private static func user(of file: String) throws -> UInt32? {
    if file == ConfigurationLoader.systemFile, let uid = Users.uid(named: "bearerd") { return uid }
    guard Users.currentUID == 0, let owner = try DryRun.owner(of: file), owner != 0 else { return nil }
    return owner
  }
}
