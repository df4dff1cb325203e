internal import CLibuv
internal import Glibc

package protocol ListenerDelegate: AnyObject {
  /// Receives an accepted stream, which has no delegate and does not read yet. The delegate must close the stream.
  func listener(_ listener: Listener, didAccept stream: Stream)
  /// Offers an accepted connection. If the delegate returns `true`, it owns the socket, and `didAccept` is not called.
  func listener(_ listener: Listener, handOff socket: AcceptedSocket) -> Bool
  /// Reports that accepting failed, for example with EMFILE. The listener has paused itself. Call `resume()` later.
  func listener(_ listener: Listener, didFail error: UVError)
}

extension ListenerDelegate {
  package func listener(_ listener: Listener, handOff socket: AcceptedSocket) -> Bool { false }
}

// Uses `uv_poll_t` instead of `uv_listen`. `uv_listen` cannot pause: it always accepts one connection in advance. On
// EMFILE, it also silently closes every pending connection.
/// A listening socket. Must be closed.
package final class Listener {
  package weak var delegate: (any ListenerDelegate)?

  private unowned let loop: Loop
  private let memory = HandleMemory<uv_poll_t>()
  let descriptor: Int32
  let isUnix: Bool
  /// An unused descriptor, which is freed to accept connections when the process has no other left.
  private var spareDescriptor: Int32
  /// The local address of all accepted connections; `nil` if they can differ.
  private var boundAddress: SocketAddress?
  private var isAccepting = false
  private var round: UInt64 = 0
  private(set) var isClosed = false

  /// Binds and listens, but accepts nothing before `start()`.
  /// - Parameter reusePort: whether several loops can share the address (SO_REUSEPORT).
  package convenience init(
    loop: Loop, address: SocketAddress, backlog: Int32, reusePort: Bool
  ) throws(UVError) {
    // Sets CLOEXEC, IPV6_V6ONLY and SO_REUSEADDR, so that a restart does not wait for TIME_WAIT.
    let descriptor = try makeListeningSocket(at: address, backlog: backlog, reusePort: reusePort)
    do throws(UVError) {
      try self.init(loop: loop, owning: descriptor, isUnix: false)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  /// Adopts a listening socket. Throws EINVAL if the socket does not listen, or is not of the kind that `isUnix` says.
  /// If this throws, the caller still owns the descriptor.
  package convenience init(loop: Loop, adopting descriptor: Int32, isUnix: Bool) throws(UVError) {
    try prepareAdopted(descriptor, isUnix: isUnix)
    try self.init(loop: loop, owning: descriptor, isUnix: isUnix)
  }

  private init(loop: Loop, owning descriptor: Int32, isUnix: Bool) throws(UVError) {
    self.loop = loop
    self.descriptor = descriptor
    self.isUnix = isUnix
    try memory.check(uv_poll_init(loop.raw, memory.raw, descriptor), "uv_poll_init")
    spareDescriptor = openSpare()
    memory.retain(self)
    if let address, address.ip.contains(where: { $0 != 0 }) { boundAddress = address }
  }

  /// The bound address. `nil` for a Unix socket or a closed listener.
  package var address: SocketAddress? {
    guard !isUnix, !isClosed else { return nil }
    return SocketAddress { address, length in
      var size = socklen_t(length.pointee)
      return getsockname(descriptor, address, &size)
    }
  }

  /// The bound port. 0 for a Unix socket or a closed listener.
  package var port: UInt16 { address?.port ?? 0 }

  package func start() throws(UVError) {
    guard !isClosed, !isAccepting else { return }
    try check(
      uv_poll_start(memory.raw, CInt(UV_READABLE.rawValue)) { handle, _, _ in
        withOwner(handle?.pointee.data, as: Listener.self) { $0.acceptPending() }
      }, "uv_poll_start")
    isAccepting = true
  }

  /// Stops accepting. New connections wait in the kernel's backlog.
  package func pause() {
    guard isAccepting else { return }
    isAccepting = false
    uv_poll_stop(memory.raw)
  }

  /// Accepts again after `pause()`. Does nothing on a closed listener.
  package func resume() { try? start() }

  /// Closes the listener and resets the connections in the backlog. No delegate call follows. Idempotent.
  package func close() {
    guard !isClosed else { return }
    isAccepting = false
    isClosed = true
    memory.close()
    // uv_close has removed the descriptor from the loop.
    Glibc.close(descriptor)
    if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
  }

  /// Closes up to 4,096 connections of the backlog, and returns their number. Works even if the process has no free
  /// descriptor.
  @discardableResult
  package func closePendingConnections() -> Int {
    guard !isClosed else { return 0 }
    if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    defer { spareDescriptor = openSpare() }
    for count in 0..<maximumClosedPending {
      let accepted = bearerd_accept(descriptor, nil, nil)
      guard accepted >= 0 else { return count }
      Glibc.close(accepted)
    }
    return maximumClosedPending
  }

  // MARK: accepting

  /// Accepts at most `maximumAcceptedPerTurn` pending connections.
  private func acceptPending() {
    // The poll is level-triggered, so the next turn of the loop accepts the remaining connections.
    loop.turn.begin(.accept)
    guard loop.turn.admits(&round) else { return }
    for count in 0..<maximumAcceptedPerTurn where isAccepting {
      if count > 0, loop.isOutOfTime { return }
      var accepted: Int32 = -1
      let peer = SocketAddress { address, length in
        var size = socklen_t(length.pointee)
        accepted = bearerd_accept(descriptor, address, &size)
        return accepted < 0 ? accepted : 0
      }
      guard accepted >= 0 else {
        let reason = errno
        if isTransient(reason) { continue }
        if reason != EAGAIN { fail(UVError(operation: "accept", status: -reason)) }
        return
      }
      let socket = AcceptedSocket(descriptor: accepted, isUnix: isUnix, peer: peer, local: boundAddress)
      guard let delegate else { return socket.close() }
      if delegate.listener(self, handOff: socket) { continue }
      do throws(UVError) {
        delegate.listener(self, didAccept: try socket.stream(on: loop))
      } catch {
        socket.close()
        return fail(error)
      }
    }
  }

  /// Whether an error of accept(2) concerns only one connection.
  private func isTransient(_ reason: Int32) -> Bool {
    // For example, accept(2) returns network errors of a new connection that is already broken.
    switch reason {
    case EINTR, ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH,
      EPERM, ETIMEDOUT:
      true
    default: false
    }
  }

  private func fail(_ error: UVError) {
    pause()
    delegate?.listener(self, didFail: error)
  }
}

private func openSpare() -> Int32 { Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC) }

/// Maximum number of connections that a listener accepts per turn of the loop.
private let maximumAcceptedPerTurn = 64
private let maximumClosedPending = 4096
