internal import Console
internal import Policy

/// A service under test, with a request that its rules allow.
struct Target {
  let name: String
  let service: Service
  let index: Int
  private(set) var endpoint: StartedDaemon.Endpoint
  /// The value of `Host` in requests for the service.
  private(set) var authority: String
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
      let address = host == "localhost" ? "127.0.0.1" : host.filter { $0 != "[" && $0 != "]" }
      return try BlockingSocket(host: address, port: port, seconds: seconds)
    case .unix(let path): return try BlockingSocket(unixPath: path, seconds: seconds)
    }
  }

  func at(_ endpoint: StartedDaemon.Endpoint) -> Target {
    var target = self
    target.endpoint = endpoint
    if let new = target.port, let old = port { target.authority = authority.replacing(":\(old)", with: ":\(new)") }
    return target
  }

  /// The body of the upstream's default response.
  var usualBody: String { method == "HEAD" ? "" : "hello\n" }

  /// The TCP port; `nil` for a Unix socket.
  var port: UInt16? { endpoint.port }

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
