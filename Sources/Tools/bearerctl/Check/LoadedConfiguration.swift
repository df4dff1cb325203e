internal import Console
internal import Configuration
internal import Settings
internal import Loading
internal import Policy
internal import System
internal import TLS

struct LoadedConfiguration {
  let file: String
  let settings: DaemonSettings
  let silent: Set<String>
  /// The authorities and revocation lists of upstreams that do not use the system's.
  let stores: [TrustPolicy.Files: TrustStore]

  /// Loads the configuration at this path, or at the default path for `nil`. Throws `Failure` if it has errors.
  init(_ option: String?) throws {
    let file = absolute(option ?? LoadedConfiguration.usualFile)
    do {
      try self.init(loading: file)
    } catch let error as LoadError {
      for finding in error.diagnostics where finding.severity == .error { Terminal.printError("\(finding)\n\n") }
      throw Failure(Failure.usage, "this configuration cannot be used. \"bearerctl check \(file)\" shows all findings")
    }
  }

  /// Throws `LoadError` if the configuration has errors, and `Failure` if a file system does not respond.
  init(loading file: String) throws {
    self.file = file
    let user = try LoadedConfiguration.user(of: file)
    silent = try DryRun(file, as: user).silent
    let loaded = try ConfigurationLoader.load(
      file, as: user, probe: FileProbe(unresponsive: silent), step: LoadingStep())
    (settings, stores) = (loaded.settings, loaded.stores)
  }

  /// The path of the configuration for commands without `--config`.
  static var usualFile: String {
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
