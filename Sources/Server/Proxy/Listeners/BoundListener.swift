internal import Configuration
package import EventLoop
package import Gateway
package import Log
internal import Policy
package import Settings
internal import StatusModel
internal import System

package final class BoundListener: ListenerDelegate {
  package let id: ListenerID
  package private(set) var name: String
  private(set) var addresses: [ListenerSettings.Address]
  private let listeners: [Listener]
  package private(set) var accepted: UInt64 = 0
  private unowned let acceptor: Acceptor
  /// The TCP ports that the sockets are bound to.
  package let ports: [UInt16]
  package let boundAddresses: [ListenerSockets.BoundAddress]
  let remarks: [(message: String, help: String)]

  init(_ sockets: ListenerSockets, id: ListenerID, acceptor: Acceptor) {
    self.id = id
    name = sockets.settings.name
    addresses = sockets.settings.addresses
    listeners = sockets.listeners
    ports = sockets.ports
    boundAddresses = sockets.boundAddresses
    remarks = sockets.remarks
    self.acceptor = acceptor
    for listener in listeners { listener.delegate = self }
  }

  /// Whether the sockets have exactly these addresses. Ignores the mode of Unix sockets.
  package func isBound(to wanted: [ListenerSettings.Address]) -> Bool {
    addresses.count == wanted.count && zip(addresses, wanted).allSatisfy { $0.withoutMode == $1.withoutMode }
  }

  /// Whether one of the listener's sockets occupies one of these addresses.
  package func shares(_ wanted: [ListenerSettings.Address]) -> Bool {
    wanted.contains { address in
      switch address {
      case .localhost, .tcp:
        ports.contains { port in addresses.contains { $0.bound(to: port).collides(with: address) } }
      case .unix: addresses.contains { $0.withoutMode == address.withoutMode }
      // During a reload, two listeners may accept from duplicates of one inherited socket.
      case .systemd: false
      }
    }
  }

  /// Applies the name and the socket mode of a new configuration.
  package func update(to settings: ListenerSettings) {
    for case (.unix(_, let old), .unix(let path, let new)) in zip(addresses, settings.addresses) where old != new {
      UnixSocket.setMode(new, path: path)
    }
    name = settings.name
    addresses = settings.addresses
  }

  /// Sets TCP keep-alive for connections that are accepted from now on.
  package func setKeepalive(_ keepalive: Keepalive?) {
    for listener in listeners { listener.setKeepalive(TCPKeepalive(keepalive)) }
  }

  package func start() throws(UVError) {
    for listener in listeners { try listener.start() }
  }

  func pause() { for listener in listeners { listener.pause() } }
  func resume() { for listener in listeners { listener.resume() } }
  /// Closes the sockets. Removes Unix sockets from the file system, except those that the service manager owns.
  package func close() {
    for listener in listeners { listener.close() }
    for case .unix(let path, _) in addresses { UnixSocket.remove(path: path) }
  }

  package func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    accepted &+= 1
    acceptor.accepted(stream, on: self)
  }

  package func listener(_ listener: Listener, handOff socket: AcceptedSocket) -> Bool {
    guard acceptor.handOff(socket, from: self) else { return false }
    accepted &+= 1
    return true
  }

  package func listener(_ listener: Listener, didFail error: UVError) { acceptor.failed(error, on: self) }
}

extension TCPKeepalive {
  /// Converts the settings. Returns `nil` if keep-alive is off.
  init?(_ keepalive: Keepalive?) {
    guard let keepalive else { return nil }
    func seconds(_ time: UInt64) -> Int32 { Int32(clamping: time / 1_000 + (time % 1_000 == 0 ? 0 : 1)) }
    self.init(
      idle: seconds(keepalive.idle), interval: seconds(keepalive.interval), probes: Int32(clamping: keepalive.probes))
  }
}

extension ListenerSettings.Address {
  fileprivate var withoutMode: ListenerSettings.Address {
    switch self {
    case .localhost, .tcp, .systemd: self
    case .unix(let path, _): .unix(path: path, mode: 0)
    }
  }
}

extension BoundListener {
  package func announce(in log: EventLog) {
    for address in boundAddresses {
      log.event(
        .listening, ("listener", name), ("held_by", address.isInherited ? "systemd" : nil), ("address", address.text))
    }
    for remark in remarks {
      log.event(.listener, ("listener", name), ("detail", remark.message), ("help", remark.help))
    }
  }
}
