package import Configuration
package import Log
package import Policy
package import System

/// The sockets that the service manager holds for us, by the names of its socket unit. They outlive reloads, and it keeps
/// them while the daemon is not there, so that no other program can take the port (T5). Listeners accept from duplicates.
package final class InheritedSockets {
  private var sockets: [InheritedSocket]
  /// By the path of a socket, those of the group that it has. Asked at the start: a directory service may take any time.
  private let members: [String: Set<UInt32>]

  /// Takes over what was passed to this process. Once, before anything starts another process.
  package convenience init() { self.init(ServiceManager.inheritedSockets()) }

  package init(_ sockets: [InheritedSocket]) {
    self.sockets = sockets
    var members: [String: Set<UInt32>] = [:]
    for case .unix(let path) in sockets.map(\.place) {
      members[path] = FileStatus(path: path).map { Users.members(ofGroup: $0.group) }
    }
    self.members = members
  }

  func members(whoMayConnectTo socket: InheritedSocket) -> Set<UInt32> {
    guard case .unix(let path) = socket.place else { return [] }
    return members[path] ?? []
  }

  /// Duplicates of all sockets of a name, for the listener to close. Each is fit to be listened on under the rules that hold
  /// for an `address:` in the file.
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

  /// Checks what the configuration's own check cannot see: an upstream that is one of these sockets, and a listener that wants
  /// no tokens of who comes from another machine.
  /// - Parameter upstreams: each origin, and a service that has it.
  package func check(_ settings: Settings, _ upstreams: [(origin: Origin, service: String)]) throws(StartError) {
    if sockets.isEmpty { return }
    for listener in settings.listeners {
      for case .systemd(let name) in listener.addresses {
        for case let refused? in sockets.filter({ $0.name == name }).map({ $0.reach(for: listener) }) {
          throw InheritedSockets.refusal(refused, of: listener, file: settings.file)
        }
      }
    }
    for (origin, service) in upstreams {
      guard sockets.contains(where: { $0.answers(origin.host, port: origin.port) }) else { continue }
      let message = "the upstream of service \"\(service)\" is a socket of bearerd itself: requests would loop"
      throw .configuration([.about(file: settings.file, message)])
    }
  }

  /// The name under which a port that is in use is ours.
  func name(ofPort port: UInt16) -> String? { sockets.first { $0.port == port }?.name }

  /// Closes what no listener of the configuration names. A client that connects there waits in vain, so the log says it.
  package func closeUnclaimed(by settings: Settings, log: EventLog) {
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

  /// For a process that ends without having served: who waits gets an end. If they went on waiting, the service manager would
  /// start us again for their sake, at once and over and over.
  package func closeWaiting() {
    for socket in sockets { socket.closeWaiting() }
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
