internal import Configuration
internal import EventLoop
internal import Log
internal import Proxy
internal import Setup

/// The listeners of a server: their sockets, and which of them stay when the configuration changes.
final class ServerListeners {
  /// Path of the configuration, for messages.
  let file: String
  let held: InheritedSockets
  let acceptor: Acceptor
  private(set) var slots: [BoundListener]
  private let loop: Loop

  init(file: String, held: InheritedSockets, acceptor: Acceptor, _ sockets: [ListenerSockets], loop: Loop) {
    self.file = file
    self.held = held
    self.acceptor = acceptor
    self.loop = loop
    slots = sockets.map { acceptor.slot($0) }
  }

  /// Probes silent connections in this way from now on; those that were accepted before stay as they are.
  func setKeepalive(_ keepalive: Keepalive?) {
    for slot in slots { slot.setKeepalive(keepalive) }
  }

  /// From now on connections are accepted.
  func start(_ log: EventLog) throws(UVError) {
    for slot in slots { try slot.start() }
    for slot in slots { slot.announce(in: log) }
  }

  /// Puts those of `slots(for:)` into use. Returns the new ones among them, which are to be started.
  func adopt(_ new: [BoundListener], _ settings: Settings) -> [BoundListener] {
    let added = new.filter { slot in !slots.contains { $0 === slot } }
    slots = new
    for (slot, listener) in zip(new, settings.listeners) { slot.follow(listener) }
    setKeepalive(settings.limits.keepalive)
    return added
  }

  /// Closes those of `slots(for:)` that are not in use.
  func close(_ new: [BoundListener]) {
    for slot in new where !slots.contains(where: { $0 === slot }) { slot.close() }
  }

  /// Listeners that stay as they are keep their sockets.
  func slots(for settings: Settings) throws(StartError) -> [BoundListener] {
    var result: [BoundListener] = []
    do throws(StartError) {
      for listener in settings.listeners {
        let free = slots.filter { slot in !result.contains { $0 === slot } }
        let kept = free.first { $0.name == listener.name && $0.stands(at: listener.addresses) }
        // Only ports that the system chooses can be meant by two; each keeps its own.
        let renamed = free.first { slot in
          slot.stands(at: listener.addresses)
            && !settings.listeners.contains { $0.name == slot.name && slot.stands(at: $0.addresses) }
        }
        if let kept = kept ?? renamed {
          result.append(kept)
        } else {
          try refuseOwnAddresses(listener)
          let sockets = try ListenerSockets(listener, held: held, file: file, loop: loop)
          result.append(acceptor.slot(sockets))
        }
      }
      return result
    } catch {
      close(result)
      throw error
    }
  }

  /// A socket of ours would be in the way of a new one of ours.
  private func refuseOwnAddresses(_ listener: ListenerSettings) throws(StartError) {
    for slot in slots where slot.shares(listener.addresses) {
      throw .system(
        "listener \(listener.name): its address is still in use by listener \(slot.name), which has changed: restart bearerd for this change"
      )
    }
  }
}
