internal import Console
internal import ArgumentParser
internal import Configuration
internal import Settings
internal import Loading
internal import System

struct ControlOptions: ParsableArguments {
  @Option(help: "The control socket of the running daemon.", completion: .file())
  var control: String?

  @Option(config: "The configuration file. Its \"control\" key can name the control socket.")
  var config: String?

  /// Returns a client for the control socket, even if the configuration file has errors.
  func client() throws -> ControlClient {
    if let control { return ControlClient(path: absolute(control)) }
    var broken: String?
    let file = absolute(config ?? ConfigurationLoader.defaultFile)
    try DryRun.read(file)
    do throws(LoadError) {
      // With errors in the file, the daemon can still run with the earlier configuration.
      if let path = try ConfigurationLoader.controlSocket(of: file) {
        return ControlClient(path: path)
      }
    } catch {
      let errors = error.diagnostics.filter { $0.severity == .error }.map { "\($0)" }
      if config != nil { broken = "\(file) cannot be used:\n\(errors.joined(separator: "\n\n"))" }
      if let path = error.controlSocket { return ControlClient(path: path, configurationError: broken) }
    }
    if config == nil, Users.currentUID != 0, FileStatus(path: file) == nil,
      ControlPath.standard.flatMap({ FileStatus(path: $0) }) == nil, FileStatus(path: ControlPath.ofSystem) != nil
    {
      let hint = "The system's daemon runs. Only root and its own user may ask it: use sudo"
      return ControlClient(path: ControlPath.ofSystem, configurationError: broken, hint: hint)
    }
    guard let path = ControlPath.standard else {
      throw Failure(
        Failure.unavailable,
        "\(broken.map { $0 + "\n" } ?? "")the control socket was not found, because XDG_RUNTIME_DIR is not set. Use --control PATH"
      )
    }
    if config == nil, FileStatus(path: file) == nil {
      let hint = "There is no \(file) either. \"bearerctl init\" writes a first configuration"
      return ControlClient(path: path, configurationError: broken, hint: hint)
    }
    return ControlClient(path: path, configurationError: broken)
  }
}

extension ControlClient {
  /// Creates a client for the daemon with this configuration; `nil` if its control socket is unknown.
  init?(of loaded: LoadedConfiguration) {
    guard let path = loaded.settings.controlSocket ?? ControlPath.standard(of: loaded.file) else { return nil }
    self.init(path: path)
  }
}

extension Option<String?> {
  /// The option `--config`, or `-c`, with the path of a configuration.
  init(config help: ArgumentHelp) {
    self.init(name: .shortAndLong, help: help, completion: .file(extensions: ["yaml"]))
  }
}
