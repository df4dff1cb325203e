internal import Admin
internal import Providers
internal import Generations
internal import Proxy

/// The parts of the daemon that run from `Server.begin` until shutdown. `nil` before their start.
struct ServerServices {
  var control: ControlSocket?
  var reloads: Reloads?
  var processEvents: ProcessEvents?
  var commands: SecretCommands?
  var tokens: TokenManager?
  var logouts: Logouts?
  var expiryWatch: ExpiryWatch?
  var probes: Probes?

  func update(to generation: Generation) {
    commands?.update(to: generation)
    tokens?.update(to: generation)
    control?.update(to: generation.settings)
    expiryWatch?.check()
    probes?.update(to: generation)
  }

  func close() {
    control?.close()
    commands?.close()
    tokens?.close()
    reloads?.close()
    processEvents?.close()
    expiryWatch?.close()
    probes?.close()
  }
}
