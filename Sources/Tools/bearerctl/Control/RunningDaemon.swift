internal import Console
internal import Configuration
internal import Setup
internal import System

/// The daemon that runs with a configuration.
struct RunningDaemon: ListenerPorts {
  let isPrivate = false
  /// `nil` if the daemon runs as another user: it then does not answer us.
  private let client: ControlClient?

  /// `nil`: none answers.
  init?(_ settings: Settings, control: String? = nil) throws {
    guard let path = control.map(absolute) ?? settings.controlSocket ?? ControlPath.standard(of: settings.file) else {
      return nil
    }
    if UnixSocket.isClosedToUs(path) {
      client = nil
      return
    }
    let client = ControlClient(path: path)
    self.client = client
    do {
      let file = try StatusDocument(asking: client, seconds: 10).configuration.file
      // The one at the usual place may have another configuration.
      guard file == settings.file || Self.areSame(file, settings.file) else { return nil }
    } catch let failure as Failure {
      guard failure.code == Failure.unavailable else { throw failure }
      return nil
    }
  }

  /// Returns why the daemon goes on with the old configuration; `nil`: it has the new one.
  func reload() throws -> String? {
    guard let client else { return "only root and the daemon's own user may reload the daemon" }
    switch try client.ask("reload") {
    case .ok: return nil
    case .error(let reason): return reason
    }
  }

  /// The TCP ports that a listener is bound to. Empty if the daemon does not answer us.
  func ports(of listener: String) throws -> [UInt16] {
    guard let client else { return [] }
    let addresses = try StatusDocument(asking: client).listeners.first { $0.name == listener }?.addresses ?? []
    return addresses.compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }
  }

  /// Whether two paths lead to one file.
  static func areSame(_ one: String, _ other: String) -> Bool {
    guard let one = FileStatus(path: one), let other = FileStatus(path: other) else { return false }
    return one.device == other.device && one.inode == other.inode
  }
}
