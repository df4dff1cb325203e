internal import Console
internal import Configuration
internal import Setup

/// The daemon that runs with a configuration.
struct RunningDaemon: ListenerPorts {
  let isPrivate = false
  private let client: ControlClient

  /// `nil`: none answers.
  init?(_ settings: Settings, control: String? = nil) throws {
    guard let path = control.map(absolute) ?? settings.controlSocket ?? ControlPath.standard else { return nil }
    client = ControlClient(path: path)
    do {
      // The one at the usual place may have another configuration.
      guard try StatusDocument(asking: client, seconds: 10).configuration.file == settings.file else { return nil }
    } catch let failure as Failure {
      guard failure.code == Failure.unavailable else { throw failure }
      return nil
    }
  }

  /// Returns why the daemon goes on with the old configuration; `nil`: it has the new one.
  func reload() throws -> String? {
    switch try client.ask("reload") {
    case .ok: return nil
    case .error(let reason): return reason
    }
  }

  /// The addresses that a listener is bound to: `127.0.0.1:7070`, `[::1]:7070`, `unix:/path`.
  func addresses(of listener: String) throws -> [String] {
    try StatusDocument(asking: client).listeners.first { $0.name == listener }?.addresses ?? []
  }

  /// The TCP ports that a listener is bound to.
  func ports(of listener: String) throws -> [UInt16] {
    try addresses(of: listener).compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }
  }
}
