internal import CLibuv
internal import Glibc

package protocol ListenerDelegate: AnyObject {
  /// The stream has no delegate yet and does not read. It is the delegate's to close.
  func listener(_ listener: Listener, didAccept stream: Stream)
  /// Asked first: true if it goes to another loop, and is the delegate's to close.
  func listener(_ listener: Listener, handsOn socket: AcceptedSocket) -> Bool
  /// Accepting failed (EMFILE and the like). The listener has paused itself; call `resume()` later.
  func listener(_ listener: Listener, didFail error: UVError)
}

extension ListenerDelegate {
  package func listener(_ listener: Listener, handsOn socket: AcceptedSocket) -> Bool { false }
}

/// A listening socket. To be closed.
///
/// It accepts by itself over a `uv_poll_t` and not through uv_listen, which cannot pause (it accepts one connection more
/// than it hands out) and which answers EMFILE by closing every waiting connection without telling anybody.
package final class Listener {
  package weak var delegate: (any ListenerDelegate)?

  private unowned let loop: Loop
  private let memory: HandleMemory<uv_poll_t>
  let descriptor: Int32
  let isUnix: Bool
  /// Held for the moment when there is no other, see `closeWaiting`.
  private var spareDescriptor: Int32
  /// The local address of each connection, too; nil: theirs differ.
  private var boundAddress: SocketAddress?
  private var isAccepting = false
  private var round: UInt64 = 0
  private(set) var isClosed = false

  /// Binds and listens at once; nothing is accepted before `start()`. IPv6 sockets are V6ONLY. CLOEXEC. SO_REUSEADDR, so
  /// that a restart need not wait for TIME_WAIT; `reusePort`: several loops share the address (SO_REUSEPORT).
  package convenience init(
    loop: Loop, address: SocketAddress, backlog: Int32, reusePort: Bool
  ) throws(UVError) {
    let descriptor = try listeningSocket(at: address, backlog: backlog, reusePort: reusePort)
    do throws(UVError) {
      try self.init(loop: loop, owning: descriptor, isUnix: false)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  /// Takes over a listening socket, e.g. one bound with its mode by `System.UnixSocket` or passed by systemd. `isUnix` says
  /// which kind it is; a socket of the other kind, or one that does not listen, is refused (EINVAL). If this throws, the
  /// descriptor is still the caller's.
  package convenience init(loop: Loop, adopting descriptor: Int32, isUnix: Bool) throws(UVError) {
    try prepareAdopted(descriptor, isUnix: isUnix)
    try self.init(loop: loop, owning: descriptor, isUnix: isUnix)
  }

  private init(loop: Loop, owning descriptor: Int32, isUnix: Bool) throws(UVError) {
    self.loop = loop
    self.descriptor = descriptor
    self.isUnix = isUnix
    memory = HandleMemory<uv_poll_t>()
    let status = uv_poll_init(loop.raw, memory.raw, descriptor)
    guard status == 0 else {
      memory.discard()
      throw UVError(operation: "uv_poll_init", status: status)
    }
    spareDescriptor = openSpare()
    memory.retain(self)
    if let address, address.ip.contains(where: { $0 != 0 }) { boundAddress = address }
  }

  /// The bound address; nil on unix sockets.
  package var address: SocketAddress? {
    guard !isUnix, !isClosed else { return nil }
    return SocketAddress { address, length in
      var size = socklen_t(length.pointee)
      return getsockname(descriptor, address, &size)
    }
  }

  /// The bound port; 0 on unix sockets.
  package var port: UInt16 { address?.port ?? 0 }

  package func start() throws(UVError) {
    guard !isClosed, !isAccepting else { return }
    try check(
      uv_poll_start(memory.raw, CInt(UV_READABLE.rawValue)) { handle, _, _ in
        withOwner(handle?.pointee.data, as: Listener.self) { $0.acceptWaiting() }
      }, "uv_poll_start")
    isAccepting = true
  }

  /// Stops accepting: the backlog waits in the kernel.
  package func pause() {
    guard isAccepting else { return }
    isAccepting = false
    uv_poll_stop(memory.raw)
  }

  /// Fails only on a closed listener, silently.
  package func resume() {
    try? start()
  }

  /// Idempotent. No delegate call follows; who waits in the backlog is reset.
  package func close() {
    guard !isClosed else { return }
    isAccepting = false
    isClosed = true
    memory.close()
    // uv_close has taken the descriptor out of the loop, so it may go now.
    Glibc.close(descriptor)
    if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
  }

  /// Closes every connection that waits in the backlog, even when no descriptor is left: an end is a better answer than
  /// silence. How many.
  @discardableResult
  package func closeWaiting() -> Int {
    guard !isClosed else { return 0 }
    if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    defer { spareDescriptor = openSpare() }
    for count in 0..<maximumTurnedAway {
      let accepted = bearerd_accept(descriptor, nil, nil)
      guard accepted >= 0 else { return count }
      Glibc.close(accepted)
    }
    return maximumTurnedAway
  }
}

// MARK: - Accepting

extension Listener {
  /// The poll is level-triggered: what is left over is heard of on the next turn.
  private func acceptWaiting() {
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
        if isPassing(reason) { continue }
        if reason != EAGAIN { fail(UVError(operation: "accept", status: -reason)) }
        return
      }
      let socket = AcceptedSocket(descriptor: accepted, isUnix: isUnix, peer: peer, local: boundAddress)
      guard let delegate else { return socket.close() }
      if delegate.listener(self, handsOn: socket) { continue }
      do throws(UVError) {
        delegate.listener(self, didAccept: try socket.stream(on: loop))
      } catch {
        socket.close()
        return fail(error)
      }
    }
  }

  /// Trouble of one connection and not of the listener's: accept(2) passes on network errors of a connection that is
  /// already broken, and asks to be called again.
  private func isPassing(_ reason: Int32) -> Bool {
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

private func openSpare() -> Int32 {
  Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
}

/// So that a flood of connections leaves the others their turn.
private let maximumAcceptedPerTurn = 64
private let maximumTurnedAway = 4096
