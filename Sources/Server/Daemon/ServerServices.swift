internal import Admin
internal import Providers
internal import Generations

/// The parts of the daemon that run from `Server.begin` until shutdown. `nil` before their start.
struct ServerServices {
  var control: ControlSocket?
  var reloads: Reloads?
  var processEvents: ProcessEvents?
  var commands: SecretCommands?
  var tokens: TokenManager?
  var logouts: Logouts?
  var expiryWatch: ExpiryWatch?

  func update(to generation: Generation) {
    commands?.update(to: generation)
    tokens?.update(to: generation)
    control?.update(to: generation.settings)
    expiryWatch?.check()
  }

  func close() {
    control?.close()
    commands?.close()
    tokens?.close()
    reloads?.close()
    processEvents?.close()
    expiryWatch?.close()
  }
}
