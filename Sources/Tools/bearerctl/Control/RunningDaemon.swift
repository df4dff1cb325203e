internal import Console
internal import Settings
internal import Loading
internal import StatusModel
internal import System

struct RunningDaemon: ListenerPorts {
  let isPrivate = false
  /// The client for the daemon's control socket; `nil` without access to it.
  private let client: ControlClient?

  /// Connects to the daemon. Returns `nil` if no daemon runs with this configuration file.
  init?(_ settings: DaemonSettings, control: String? = nil) throws {
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
      let file = try client.status(seconds: 10).configuration.file
      // The daemon at the default socket may have another configuration.
      guard file == settings.file || Self.areSame(file, settings.file) else { return nil }
    } catch let failure as Failure {
      guard failure.code == Failure.unavailable else { throw failure }
      return nil
    }
  }

  /// Reloads the daemon's configuration. Returns the reason if this fails; otherwise `nil`.
  func reload() throws -> String? {
    guard let client else { return "only root and the daemon's own user may reload the daemon" }
    switch try client.send("reload") {
    case .ok: return nil
    case .error(let reason): return reason
    }
  }

  /// Returns the TCP ports of a listener; empty if the daemon runs as another user.
  func ports(of listener: String) throws -> [UInt16] {
    guard let client else { return [] }
    let addresses = try client.status().listeners.first { $0.name == listener }?.addresses ?? []
    return addresses.compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }
  }

  /// Whether two paths name the same existing file.
  static func areSame(_ one: String, _ other: String) -> Bool {
    guard let one = FileStatus(path: one), let other = FileStatus(path: other) else { return false }
    return one.device == other.device && one.inode == other.inode
  }
}
