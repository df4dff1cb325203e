internal import Console
internal import TestServer
internal import Synchronization
internal import System

/// The environment of the demo: certificate authority, upstreams, token, directory and configuration.
final class DemoStage {
  let token: String
  let directory: TemporaryDirectory
  let upstream: UpstreamServer
  /// A server with another key than the upstream, but with a certificate for the same name.
  let impostor: UpstreamServer
  let configuration: String
  var configurationFile: String { "\(directory.path)/bearerd.yaml" }
  let announcer = Announcer()

  init(port: UInt16) throws {
    do {
      let token = "demo-\(randomText(11))"
      self.token = token
      directory = try TemporaryDirectory()
      let authority = try Certificate.authority("bearerd demo CA")
      let leaf = try Certificate(.localhost, issuer: authority)
      let backup = try Certificate(.localhost, issuer: authority)
      let respond = { @Sendable [announcer] (request: UpstreamRequest) in
        announcer.response(to: request, token: token)
      }
      upstream = try UpstreamServer(chain: [leaf], handler: UpstreamServer.httpHandler(response: respond))
      impostor = try UpstreamServer(
        chain: [Certificate(.localhost, issuer: authority)], handler: UpstreamServer.httpHandler(response: respond))
      configuration = demoConfiguration(
        port: port, uid: Users.currentUID, upstream: upstream.port, impostor: impostor.port,
        pins: [leaf.pin, backup.pin])
      try directory.write("ca.pem", authority.pem)
      try directory.write("demo.token", token + "\n")
      try directory.write("bearerd.yaml", configuration)
    } catch let error as TestServerError {
      throw Failure(Failure.system, error.description)
    }
  }

  func end() {
    upstream.stop()
    impostor.stop()
    directory.remove()
  }
}

/// Responds to the requests that both upstreams receive, and prints the requests while `isOn`.
final class Announcer: Sendable {
  private let state = Mutex(false)

  var isOn: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func response(to request: UpstreamRequest, token: String) -> [UInt8] {
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
