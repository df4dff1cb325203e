internal import Configuration
internal import Daemon

/// A configuration as every command but `check` needs it: fine, or the end.
struct LoadedConfiguration {
  let file: String
  let settings: Settings

  /// nil: where the daemon itself would look.
  init(_ option: String?) throws {
    file = absolute(option ?? ConfigurationLoader.defaultFile)
    do throws(LoadError) {
      settings = try ConfigurationLoader.load(file).settings
    } catch {
      for finding in error.diagnostics where finding.severity == .error { Terminal.complain("\(finding)\n\n") }
      throw Failure(Failure.usage, "this configuration cannot be used; \"bearerctl check \(file)\" says more")
    }
  }
}
