internal import CLinux
internal import Glibc

package enum CallerIdentity {
  /// Returns the uid of the process at the other end of a Unix socket. `nil` if unknown. A uid that does not exist in
  /// our user namespace becomes 65534.
  package static func ofPeer(descriptor: Int32) -> UInt32? {
    var credentials = bearerd_ucred()
    var size = socklen_t(MemoryLayout<bearerd_ucred>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0,
      size == MemoryLayout<bearerd_ucred>.size,
      credentials.uid != UInt32.max  // the value for sockets without a peer
    else { return nil }
    return credentials.uid
  }

  /// Whether the peer of a Unix socket has closed both directions, not only its sending side.
  package static func hasHungUp(descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR) != 0
  }
}
