internal import Admin
internal import Providers
internal import Setup

/// The parts of a server that work beside its listeners, from `Server.begin` to its end; nil: not begun.
struct ServerServices {
  var control: ControlSocket?
  var reloads: Reloads?
  var processEvents: ProcessEvents?
  var commands: SecretCommands?
  var tokens: TokenManager?
  var logouts: Logouts?

  /// A new configuration is in use.
  func follow(_ generation: Generation) {
    commands?.follow(generation)
    tokens?.follow(generation)
    control?.follow(generation.settings)
  }

  func close() {
    control?.close()
    commands?.close()
    tokens?.close()
    reloads?.close()
    processEvents?.close()
  }
}
