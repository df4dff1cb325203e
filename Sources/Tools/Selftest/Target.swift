internal import Console
internal import Policy

/// A service under test, with a request that its rules allow.
struct Target {
  let name: String
  let service: Service
  /// Index of the service in the loaded rules.
  let index: Int
  let endpoint: SelftestDaemon.Endpoint
  /// The value of `Host` in requests for the service.
  let authority: String
  let method: String
  /// The path of the allowed request, including the mount.
  let path: String
  /// Path prefix of the service, including the slash at the end.
  let mount: String
  /// Index of the credential's grant; `nil` if bearerd adds no credential.
  let grant: Int?
  let headers: HeaderPolicy
  let upstream: Origin

  func connect(seconds: UInt64) throws(SocketError) -> BlockingSocket {
    switch endpoint {
    case .port(let port, let hosts):
      let host = hosts.first ?? "localhost"
      let isBoth = host == "localhost"
      return try BlockingSocket(
        host: isBoth ? "127.0.0.1" : host.filter { $0 != "[" && $0 != "]" }, port: port, seconds: seconds)
    case .unix(let path): return try BlockingSocket(unixPath: path, seconds: seconds)
    }
  }

  /// Returns the target with its address at another daemon.
  func at(_ newEndpoint: SelftestDaemon.Endpoint) -> Target {
    var authority = authority
    if case .port(let port, _) = newEndpoint, let old = self.port {
      authority = authority.replacing(":\(old)", with: ":\(port)")
    }
    return Target(
      name: name, service: service, index: index, endpoint: newEndpoint, authority: authority, method: method,
      path: path,
      mount: mount, grant: grant, headers: headers, upstream: upstream)
  }

  /// The body of the upstream's default response.
  var usualBody: String { method == "HEAD" ? "" : "hello\n" }

  /// The TCP port; `nil` for a Unix socket.
  var port: UInt16? {
    if case .port(let port, _) = endpoint { port } else { nil }
  }

  /// Returns the allowed request with additional fields, or with some parts replaced.
  func request(
    _ fields: String..., method: String? = nil, path: String? = nil, host: String? = nil,
    connection: String = "Connection: close", body: String = ""
  ) -> String {
    let lines = ["Host: \(host ?? authority)", "User-Agent: bearerctl-selftest", connection] + fields
    return "\(method ?? self.method) \(path ?? self.path) HTTP/1.1\r\n"
      + lines.filter { !$0.isEmpty }.map { $0 + "\r\n" }.joined() + "\r\n" + body
  }
}
