internal import CLinux
internal import Glibc

package enum CallerIdentity {
  /// Returns the uid of the process that called connect(2) or socketpair(2) for a Unix socket (SO_PEERCRED). A uid that
  /// does not exist in our user namespace becomes the overflow uid, 65534. `nil` if the kernel knows no uid.
  package static func ofPeer(descriptor: Int32) -> UInt32? {
    var credentials = bearerd_ucred()
    var size = socklen_t(MemoryLayout<bearerd_ucred>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0,
      size == MemoryLayout<bearerd_ucred>.size,
      credentials.uid != UInt32.max  // the value for sockets without a peer
    else { return nil }
    return credentials.uid
  }
}
