internal import Console
internal import Policy

/// A service under test, with a request that its rules let through.
struct Target {
  let name: String
  let service: Service
  let index: Int
  let place: SelftestDaemon.Place
  /// The value of `Host`.
  let authority: String
  let method: String
  /// As a program writes it, below the mount.
  let path: String
  /// Path of the mount, with its closing slash.
  let mount: String
  /// The grant that the request goes out with; nil: no credential of ours.
  let grant: Int?
  let headers: HeaderPolicy
  let upstream: Origin

  func connect(seconds: UInt64) throws(SocketError) -> BlockingSocket {
    switch place {
    case .port(let port, let hosts):
      let host = hosts.first ?? "localhost"
      let isBoth = host == "localhost"
      return try BlockingSocket(
        host: isBoth ? "127.0.0.1" : host.filter { $0 != "[" && $0 != "]" }, port: port, seconds: seconds)
    case .unix(let path): return try BlockingSocket(unixPath: path, seconds: seconds)
    }
  }

  /// This target at another daemon.
  func at(_ place: SelftestDaemon.Place) -> Target {
    var authority = authority
    if case .port(let port, _) = place, let old = self.port {
      authority = authority.replacing(":\(old)", with: ":\(port)")
    }
    return Target(
      name: name, service: service, index: index, place: place, authority: authority, method: method, path: path,
      mount: mount, grant: grant, headers: headers, upstream: upstream)
  }

  /// The body that `UpstreamScript.ok` answers to the target's request.
  var usualBody: String { method == "HEAD" ? "" : "hello\n" }

  var port: UInt16? {
    if case .port(let port, _) = place { port } else { nil }
  }

  /// The request that is let through, with a field or a body more.
  func request(
    _ fields: String..., method: String? = nil, path: String? = nil, host: String? = nil,
    connection: String = "Connection: close", body: String = ""
  ) -> String {
    let lines = ["Host: \(host ?? authority)", "User-Agent: bearerctl-selftest", connection] + fields
    return "\(method ?? self.method) \(path ?? self.path) HTTP/1.1\r\n"
      + lines.filter { !$0.isEmpty }.map { $0 + "\r\n" }.joined() + "\r\n" + body
  }
}
