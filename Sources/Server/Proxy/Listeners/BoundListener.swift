package import Configuration
package import EventLoop
package import Gateway
package import Log
internal import Policy
internal import System

/// A listener of the configuration with the sockets that it has, which outlive a reload.
package final class BoundListener: ListenerDelegate {
  /// The listener as connections know it.
  package let id: ListenerID
  package private(set) var name: String
  private(set) var addresses: [ListenerSettings.Address]
  private let listeners: [Listener]
  /// Connections since the start.
  package private(set) var accepted: UInt64 = 0
  private unowned let acceptor: Acceptor
  /// The port that was bound (for port 0 the one that the system chose); nil without TCP.
  package let ports: [UInt16]
  /// As they were bound, for the log.
  package let places: [ListenerSockets.Place]
  let remarks: [(message: String, help: String)]

  init(_ sockets: ListenerSockets, id: ListenerID, acceptor: Acceptor) {
    self.id = id
    name = sockets.settings.name
    addresses = sockets.settings.addresses
    listeners = sockets.listeners
    ports = sockets.ports
    places = sockets.places
    remarks = sockets.remarks
    self.acceptor = acceptor
    for listener in listeners { listener.delegate = self }
  }

  /// Whether its sockets are those that these addresses ask for. A socket's mode can be changed.
  package func stands(at wanted: [ListenerSettings.Address]) -> Bool {
    addresses.count == wanted.count && zip(addresses, wanted).allSatisfy { $0.place == $1.place }
  }

  /// Whether one of these addresses is one of its own.
  package func shares(_ wanted: [ListenerSettings.Address]) -> Bool {
    wanted.contains { address in
      switch address {
      case .localhost, .tcp:
        ports.contains { port in addresses.contains { $0.bound(to: port).collides(with: address) } }
      case .unix: addresses.contains { $0.place == address.place }
      // Two may accept from duplicates of one socket for the moment that a reload takes.
      case .systemd: false
      }
    }
  }

  /// Takes over the name and the mode of the socket from a new configuration.
  package func follow(_ settings: ListenerSettings) {
    for case (.unix(_, let old), .unix(let path, let new)) in zip(addresses, settings.addresses) where old != new {
      UnixSocket.setMode(new, path: path)
    }
    name = settings.name
    addresses = settings.addresses
  }

  /// Probes the connections that are accepted from now on in this way.
  package func setKeepalive(_ keepalive: Keepalive?) {
    for listener in listeners { listener.setKeepalive(TCPKeepalive(keepalive)) }
  }

  package func start() throws(UVError) {
    for listener in listeners { try listener.start() }
  }

  func pause() { for listener in listeners { listener.pause() } }
  func resume() { for listener in listeners { listener.resume() } }
  /// Closes the sockets. No program shall find one in the file system behind which no daemon stands; those of the service
  /// manager are its own.
  package func close() {
    for listener in listeners { listener.close() }
    for case .unix(let path, _) in addresses { UnixSocket.remove(path: path) }
  }

  package func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    accepted &+= 1
    acceptor.accepted(stream, on: self)
  }

  package func listener(_ listener: Listener, handsOn socket: AcceptedSocket) -> Bool {
    guard acceptor.handsOn(socket, from: self) else { return false }
    accepted &+= 1
    return true
  }

  package func listener(_ listener: Listener, didFail error: UVError) { acceptor.failed(error, on: self) }
}

extension TCPKeepalive {
  /// The configuration's times in whole seconds, rounded up; `nil` if there are no probes.
  init?(_ keepalive: Keepalive?) {
    guard let keepalive else { return nil }
    func seconds(_ time: UInt64) -> Int32 { Int32(clamping: time / 1_000 + (time % 1_000 == 0 ? 0 : 1)) }
    self.init(
      idle: seconds(keepalive.idle), interval: seconds(keepalive.interval), probes: Int32(clamping: keepalive.probes))
  }
}

extension ListenerSettings.Address {
  /// The address without the mode of its socket.
  fileprivate var place: ListenerSettings.Address {
    switch self {
    case .localhost, .tcp, .systemd: self
    case .unix(let path, _): .unix(path: path, mode: 0)
    }
  }
}

extension BoundListener {
  /// Logs what an administrator should know of where it listens.
  package func announce(in log: EventLog) {
    for place in places {
      log.event(
        .listening, ("listener", name), ("held_by", place.isHeld ? "systemd" : nil), ("address", place.text))
    }
    for remark in remarks {
      log.event(.listener, ("listener", name), ("detail", remark.message), ("help", remark.help))
    }
  }
}
