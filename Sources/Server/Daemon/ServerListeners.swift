internal import Configuration
internal import EventLoop
internal import Log
internal import Proxy
internal import Settings

final class ServerListeners {
  let file: String
  let inherited: InheritedSockets
  let acceptor: Acceptor
  private(set) var boundListeners: [BoundListener]
  private let loop: Loop

  init(file: String, inherited: InheritedSockets, acceptor: Acceptor, _ sockets: [ListenerSockets], loop: Loop) {
    self.file = file
    self.inherited = inherited
    self.acceptor = acceptor
    self.loop = loop
    boundListeners = sockets.map { acceptor.makeListener($0) }
  }

  func setKeepalive(_ keepalive: Keepalive?) {
    for bound in boundListeners { bound.setKeepalive(keepalive) }
  }

  func start(_ log: EventLog) throws(UVError) {
    for bound in boundListeners { try bound.start() }
    for bound in boundListeners { bound.announce(in: log) }
  }

  /// Uses the listeners that `makeListeners(for:)` returned. Returns those that are new and must be started.
  func adopt(_ new: [BoundListener], _ settings: DaemonSettings) -> [BoundListener] {
    let added = new.filter { bound in !boundListeners.contains { $0 === bound } }
    boundListeners = new
    for (bound, listener) in zip(new, settings.listeners) { bound.update(to: listener) }
    setKeepalive(settings.limits.tcpKeepalive)
    return added
  }

  /// Closes the listeners of a failed reload, except the listeners that are in use.
  func close(_ new: [BoundListener]) {
    for bound in new where !boundListeners.contains(where: { $0 === bound }) { bound.close() }
  }

  /// Returns the listeners for these settings. Unchanged listeners keep their sockets.
  func makeListeners(for settings: DaemonSettings) throws(StartError) -> [BoundListener] {
    var result: [BoundListener] = []
    do throws(StartError) {
      for listener in settings.listeners {
        let free = boundListeners.filter { bound in !result.contains { $0 === bound } }
        let kept = free.first { $0.name == listener.name && $0.isBound(to: listener.addresses) }
        // Two listeners can have equal addresses only if the system chooses the ports. Each keeps its own socket.
        let renamed = free.first { bound in
          bound.isBound(to: listener.addresses)
            && !settings.listeners.contains { $0.name == bound.name && bound.isBound(to: $0.addresses) }
        }
        if let kept = kept ?? renamed {
          result.append(kept)
        } else {
          try refuseOwnAddresses(listener)
          let sockets = try ListenerSockets(listener, inherited: inherited, file: file, loop: loop)
          result.append(acceptor.makeListener(sockets))
        }
      }
      return result
    } catch {
      close(result)
      throw error
    }
  }

  /// Throws if an existing listener uses an address of the new listener.
  private func refuseOwnAddresses(_ listener: ListenerSettings) throws(StartError) {
    for bound in boundListeners where bound.shares(listener.addresses) {
      throw .system(
        "listener \(listener.name): its address is still in use by listener \(bound.name), which has changed: restart bearerd for this change"
      )
    }
  }
}
