package import Configuration
package import Log
package import Policy
package import Settings
internal import StatusModel
package import System

/// The sockets that the service manager passed to bearerd, with their names from the socket unit (T5).
package final class InheritedSockets {
  private var sockets: [InheritedSocket]
  /// The members of the group that owns each Unix socket, by the socket's path.
  private let members: [String: Set<UInt32>]

  /// Receives the sockets from the service manager. Call this once, before the first child process starts.
  package convenience init() { self.init(ServiceManager.inheritedSockets()) }

  package init(_ sockets: [InheritedSocket]) {
    self.sockets = sockets
    var members: [String: Set<UInt32>] = [:]
    for case .unix(let path) in sockets.map(\.address) {
      members[path] = FileStatus(path: path).map { Users.members(ofGroup: $0.group) }
    }
    self.members = members
  }

  func groupMembers(of socket: InheritedSocket) -> Set<UInt32> {
    guard case .unix(let path) = socket.address else { return [] }
    return members[path] ?? []
  }

  /// Returns duplicates of all sockets with this name. The caller must close them.
  /// - Throws: an error if no socket has the name, or the listener may not use one of the sockets.
  func open(
    _ name: String, for listener: ListenerSettings, file: String
  ) throws(StartError) -> [InheritedSocket] {
    let named = sockets.filter { $0.name == name }
    var refused: (message: String, help: String)?
    if named.isEmpty { refused = (missing(name), InheritedSockets.lines(name)) }
    for socket in named where refused == nil { refused = socket.refusal(for: listener) }
    if let refused {
      throw InheritedSockets.refusal(refused, of: listener, file: file)
    }
    var opened: [InheritedSocket] = []
    do throws(SystemError) {
      for socket in named { opened.append(try socket.duplicate()) }
      return opened
    } catch {
      for socket in opened { socket.close() }
      throw .system("listener \(listener.name): systemd:\(name): \(error)")
    }
  }

  /// Checks that no upstream is one of these sockets, and that sockets that other machines can reach require client
  /// tokens.
  /// - Parameter upstreams: each origin, with a service that uses it.
  package func check(_ settings: DaemonSettings, _ upstreams: [(origin: Origin, service: String)]) throws(StartError) {
    if sockets.isEmpty { return }
    for listener in settings.listeners {
      for case .systemd(let name) in listener.addresses {
        for case let refused? in sockets.filter({ $0.name == name }).map({ $0.reachRefusal(for: listener) }) {
          throw InheritedSockets.refusal(refused, of: listener, file: settings.file)
        }
      }
    }
    for (origin, service) in upstreams {
      guard sockets.contains(where: { $0.accepts(origin.host, port: origin.port) }) else { continue }
      let message = "the upstream of service \"\(service)\" is a socket of bearerd itself: requests would loop"
      throw .configuration([.about(file: settings.file, message)])
    }
  }

  /// Returns the name of the socket with this port, or `nil`.
  func name(ofPort port: UInt16) -> String? { sockets.first { $0.port == port }?.name }

  /// Closes and logs the sockets that no listener uses.
  package func closeUnclaimed(by settings: DaemonSettings, log: EventLog) {
    var claimed: Set<String> = []
    for case .systemd(let name) in settings.listeners.flatMap(\.addresses) { claimed.insert(name) }
    for socket in sockets where !claimed.contains(socket.name) {
      log.event(
        .socketNotUsed, ("name", socket.name), ("address", socket.text),
        ("detail", "systemd passes this socket, but no listener uses it: clients that connect there get no response"),
        (
          "help",
          "write address: systemd:\(socket.name) in a listener, or remove the socket from the socket unit. Then restart bearerd"
        )
      )
      socket.close()
    }
    sockets.removeAll { !claimed.contains($0.name) }
  }

  /// Closes connections that wait to be accepted. Call this before the process exits without serving them.
  package func closeWaiting() {
    // Otherwise the service manager would immediately restart bearerd for these connections.
    for socket in sockets { socket.closePendingConnections() }
  }

  private static func refusal(
    _ refused: (message: String, help: String), of listener: ListenerSettings, file: String
  ) -> StartError {
    .configuration([.about(file: file, "listener \"\(listener.name)\": \(refused.message)", help: refused.help)])
  }

  private func missing(_ name: String) -> String {
    guard !sockets.isEmpty else { return "systemd passed no sockets" }
    let known = Set(sockets.map(\.name)).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
    return "systemd passed no socket named \"\(name)\", only \(known)"
  }

  private static func lines(_ name: String) -> String {
    """
    the socket unit (systemctl enable --now bearerd.socket) needs these lines:
    [Socket]
    ListenStream=127.0.0.1:7070
    ListenStream=[::1]:7070
    FileDescriptorName=\(name)
    """
  }
}
