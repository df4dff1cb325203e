internal import Configuration
internal import EventLoop
internal import Policy

/// A listener of the configuration with the sockets that it has, which outlive a reload.
final class ListenerSlot: ListenerDelegate {
  let name: String
  /// In the current generation's settings.
  var index: Int
  let addresses: [ListenerSettings.Address]
  private let listeners: [Listener]
  private unowned let worker: Worker
  /// The port that was bound (for port 0 the one that the system chose); nil without TCP.
  let ports: [UInt16]

  init(_ sockets: ListenerSockets, index: Int, worker: Worker) {
    name = sockets.settings.name
    self.index = index
    addresses = sockets.settings.addresses
    listeners = sockets.listeners
    ports = sockets.ports
    self.worker = worker
    for listener in listeners { listener.delegate = self }
  }

  /// The addresses as they were bound, for the log.
  var descriptions: [String] {
    addresses.map { address in
      switch address {
      case .localhost(let port): "localhost:\(port == 0 ? ports.first ?? 0 : port)"
      case .tcp(let ip, let port):
        ip.bytes.count == 16
          ? "[\(ip)]:\(port == 0 ? ports.first ?? 0 : port)" : "\(ip):\(port == 0 ? ports.first ?? 0 : port)"
      case .unix(let path, _): "unix:\(path)"
      }
    }
  }

  func start() throws(UVError) {
    for listener in listeners { try listener.start() }
  }

  func pause() { for listener in listeners { listener.pause() } }
  func resume() { for listener in listeners { listener.resume() } }
  func close() { for listener in listeners { listener.close() } }

  func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) { worker.accepted(stream, on: self) }

  func listener(_ listener: Listener, didFail error: UVError) { worker.acceptFailed(error, on: self) }
}
