internal import Console
internal import TestServer
internal import Synchronization
internal import System

/// The environment of the demos for HTTP and gRPC: certificate authority, servers, token, directory and configuration.
final class DemoStage {
  let token: String
  let directory: TemporaryDirectory
  let upstream: UpstreamServer
  /// A server with another key than the upstream, but with a certificate for the same name.
  let impostor: UpstreamServer
  let configuration: String
  var configurationFile: String { "\(directory.path)/bearerd.yaml" }
  let announcer: Announcer

  /// - Parameters:
  ///   - options: the options of both servers.
  ///   - handler: returns what handles the connections of both servers.
  ///   - configuration: returns the configuration for the ports of `upstream` and `impostor`, and the pins of `upstream`.
  init(
    options: UpstreamServer.Options = .init(), handler: (Announcer) -> @Sendable (AcceptedConnection) -> Void,
    configuration: (_ upstream: UInt16, _ impostor: UInt16, _ pins: [String]) -> String
  ) throws {
    do {
      token = "demo-\(randomText(11))"
      directory = try TemporaryDirectory()
      announcer = Announcer(token: token)
      let authority = try Certificate.authority("bearerd demo CA")
      let leaf = try Certificate(.localhost, issuer: authority)
      let backup = try Certificate(.localhost, issuer: authority)
      let handler = handler(announcer)
      upstream = try UpstreamServer(chain: [leaf], options: options, handler: handler)
      impostor = try UpstreamServer(
        chain: [Certificate(.localhost, issuer: authority)], options: options, handler: handler)
      self.configuration = configuration(upstream.port, impostor.port, [leaf.pin, backup.pin])
      try directory.write("ca.pem", authority.pem)
      try directory.write("demo.token", token + "\n")
      try directory.write("bearerd.yaml", self.configuration)
    } catch let error as TestServerError {
      throw Failure(Failure.system, error.description)
    }
  }

  /// - Parameter port: the port of bearerd.
  convenience init(port: UInt16) throws {
    try self.init(
      handler: { announcer in UpstreamServer.httpHandler { announcer.response(to: $0) } },
      configuration: {
        demoConfiguration(port: port, uid: Users.currentUID, upstream: $0, impostor: $1, pins: $2)
      })
  }

  func end() {
    upstream.stop()
    impostor.stop()
    directory.remove()
  }
}

/// Responds to the requests that both servers receive, and prints the requests while `isOn`.
final class Announcer: Sendable {
  let token: String
  private let state = Mutex(false)

  init(token: String) { self.token = token }

  var isOn: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func response(to request: UpstreamRequest) -> [UInt8] {
    let lines = String(decoding: request.head, as: UTF8.self).split(separator: "\r\n").map { String($0).harmless }
    let authorization = lines.first { $0.lowercased().hasPrefix("authorization:") }
    if isOn {
      let line = lines.first.map { $0.hasSuffix(" HTTP/1.1") ? String($0.dropLast(9)) : $0 } ?? ""
      StandardOutput.print("upstream received  \(line)   \(authorization ?? "(no credential)")\n")
    }
    let isKnown = authorization == "Authorization: Bearer \(token)"
    return demoResponse(isKnown ? "Hello. Your token is right.\n" : nil)
  }
}

/// Returns a 200 response with the body `text`, or a 401 response if `text` is `nil`.
func demoResponse(_ text: String?) -> [UInt8] {
  let body = text ?? "I do not know you.\n"
  return Array(
    """
    HTTP/1.1 \(text == nil ? "401 Unauthorized" : "200 OK")\r
    Content-Type: text/plain\r
    Content-Length: \(body.utf8.count)\r
    \r
    \(body)
    """.utf8)
}
