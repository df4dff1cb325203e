internal import CLibuv
internal import Glibc

func makeListeningSocket(at address: SocketAddress, backlog: Int32, reusePort: Bool) throws(UVError) -> Int32 {
  // Does not use uv_tcp_bind, because libuv 1.44 cannot set SO_REUSEPORT.
  let descriptor = try call("socket", bearerd_stream_socket(address.isIPv6 ? AF_INET6 : AF_INET))
  do throws(UVError) {
    try set(descriptor, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR")
    if reusePort { try set(descriptor, SOL_SOCKET, SO_REUSEPORT, "SO_REUSEPORT") }
    if address.isIPv6 { try set(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, "IPV6_V6ONLY") }
    try setNoDelay(descriptor)
    try check(address.withSockaddr { bind(descriptor, $0, $1) == 0 ? 0 : -errno }, "bind")
    try call("listen", listen(descriptor, backlog))
    return descriptor
  } catch {
    close(descriptor)
    throw error
  }
}

/// Checks that an adopted socket listens and has the expected kind, and sets the same options as for a new socket.
func prepareAdopted(_ descriptor: Int32, isUnix: Bool) throws(UVError) {
  let family = try option(descriptor, SO_DOMAIN, "SO_DOMAIN")
  let isListening = try option(descriptor, SO_ACCEPTCONN, "SO_ACCEPTCONN") != 0
  let isOfKind = isUnix ? family == AF_UNIX : family == AF_INET || family == AF_INET6
  let isStream = try option(descriptor, SO_TYPE, "SO_TYPE") == CInt(SOCK_STREAM.rawValue)
  guard isListening, isOfKind, isStream else {
    throw UVError(operation: "adopt listening socket", status: UV_EINVAL.rawValue)
  }
  try call("fcntl", fcntl(descriptor, F_SETFD, FD_CLOEXEC))
  if !isUnix { try setNoDelay(descriptor) }
}

/// Sets TCP_NODELAY on a listening socket and thereby on its accepted connections.
private func setNoDelay(_ descriptor: Int32) throws(UVError) {
  try set(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, "TCP_NODELAY")
}

private func set(_ descriptor: Int32, _ level: CInt, _ name: CInt, _ operation: StaticString) throws(UVError) {
  var on: CInt = 1
  try call(operation, setsockopt(descriptor, level, name, &on, socklen_t(MemoryLayout<CInt>.size)))
}

private func option(_ descriptor: Int32, _ name: CInt, _ operation: StaticString) throws(UVError) -> CInt {
  var value: CInt = 0
  var size = socklen_t(MemoryLayout<CInt>.size)
  try call(operation, getsockopt(descriptor, SOL_SOCKET, name, &value, &size))
  return value
}

@discardableResult
private func call(_ operation: StaticString, _ result: CInt) throws(UVError) -> CInt {
  try check(result >= 0 ? result : -errno, operation)
}
