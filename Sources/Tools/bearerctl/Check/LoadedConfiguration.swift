internal import Console
internal import Configuration
internal import Settings
internal import Loading
internal import System

struct LoadedConfiguration {
  let file: String
  let settings: DaemonSettings
  let silent: Set<String>

  /// Loads the configuration at this path, or at the default path for `nil`. Throws `Failure` if it has errors.
  init(_ option: String?) throws {
    file = absolute(option ?? LoadedConfiguration.usualFile)
    let user = try LoadedConfiguration.user(of: file)
    silent = try DryRun(file, as: user).silent
    do throws(LoadError) {
      settings = try ConfigurationLoader.load(file, as: user, unresponsive: silent).settings
    } catch {
      for finding in error.diagnostics where finding.severity == .error { Terminal.printError("\(finding)\n\n") }
      throw Failure(Failure.usage, "this configuration cannot be used. \"bearerctl check \(file)\" shows all findings")
    }
  }

  private static var usualFile: String {
    let own = ConfigurationLoader.defaultFile
    let isMissing = FileStatus(path: own) == nil && FileStatus(path: ConfigurationLoader.systemFile) != nil
    return isMissing ? ConfigurationLoader.systemFile : own
  }

  /// Returns the user whose daemon would use the file; `nil` for the current user.
  private static func user(of file: String) throws -> UInt32? {
    if file == ConfigurationLoader.systemFile, let uid = Users.uid(named: "bearerd") { return uid }
    guard Users.currentUID == 0, let owner = try DryRun.owner(of: file), owner != 0 else { return nil }
    return owner
  }
}
