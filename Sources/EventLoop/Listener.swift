package protocol ListenerDelegate: AnyObject {
  func listener(_ listener: Listener, didAccept stream: Stream)
  /// Accepting failed (EMFILE and the like). The listener has paused itself; call `resume()` later.
  func listener(_ listener: Listener, didFail error: UVError)
}

package final class Listener {
  package weak var delegate: (any ListenerDelegate)?
  /// Binds and listens at once. IPv6 sockets are V6ONLY. CLOEXEC.
  package init(loop: Loop, address: SocketAddress, backlog: Int32, reusePort: Bool) throws(UVError) { fatalError() }
  /// Takes over a listening socket, e.g. one bound with its mode by `System.UnixSocket` or passed by systemd. `isUnix` says which handle to use.
  package init(loop: Loop, adopting descriptor: Int32, isUnix: Bool) throws(UVError) { fatalError() }
  /// The bound port; 0 on unix sockets.
  package var port: UInt16 { fatalError() }
  package func start() throws(UVError) { fatalError() }
  /// Stops accepting: the backlog waits in the kernel.
  package func pause() { fatalError() }
  package func resume() { fatalError() }
  package func close() { fatalError() }
}
