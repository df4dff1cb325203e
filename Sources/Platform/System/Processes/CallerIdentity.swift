internal import CLinux
internal import Glibc

package enum CallerIdentity {
  /// The uid behind a connected unix socket (SO_PEERCRED): who called connect(2) or socketpair(2), in our own user namespace
  /// (the overflow uid, 65534, if it has no number here). nil if the kernel knows none.
  package static func ofPeer(descriptor: Int32) -> UInt32? {
    var credentials = bearerd_ucred()
    var size = socklen_t(MemoryLayout<bearerd_ucred>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0,
      size == MemoryLayout<bearerd_ucred>.size,
      credentials.uid != UInt32.max  // what sockets without a peer answer
    else { return nil }
    return credentials.uid
  }
}
