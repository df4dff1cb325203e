internal import Console
internal import TestServer
internal import System

/// The environment of the login demo: authorization server, API, directory and configuration.
final class OAuthDemoStage {
  let directory: TemporaryDirectory
  let server: AuthorizationServer
  private let tokens: UpstreamServer
  let api: UpstreamServer
  let configuration: String
  var configurationFile: String { "\(directory.path)/bearerd.yaml" }
  var control: String { "\(directory.path)/control.sock" }
  var store: String { "\(directory.path)/mail.login" }

  /// Lifetime of an access token, in seconds.
  static let lifetime = 4

  init(port: UInt16) throws {
    do {
      directory = try TemporaryDirectory()
      let authority = try Certificate.authority("bearerd demo CA")
      let leaf = try Certificate(.localhost, issuer: authority)
      let backup = try Certificate(.localhost, issuer: authority)
      let server = AuthorizationServer(lifetime: Self.lifetime)
      self.server = server
      tokens = try UpstreamServer(
        chain: [leaf],
        handler: UpstreamServer.httpHandler { server.response(to: $0, origin: "https://login.example") })
      api = try UpstreamServer(chain: [leaf], handler: UpstreamServer.httpHandler { Self.response(to: $0, server) })
      configuration = Self.text(port: port, api: api.port, tokens: tokens.port, pins: [leaf.pin, backup.pin])
      try directory.write("ca.pem", authority.pem)
      try directory.write("bearerd.yaml", configuration)
    } catch let error as TestServerError {
      throw Failure(Failure.system, error.description)
    }
  }

  var requestCount: Int {
    tokens.records.reduce(0) { $0 + String(decoding: $1.bytes, as: UTF8.self).ranges(of: "POST /").count }
  }

  func end() {
    tokens.stop()
    api.stop()
    directory.remove()
  }

  private static func response(to request: UpstreamRequest, _ server: AuthorizationServer) -> [UInt8] {
    let mark = "Authorization: Bearer "
    let line = String(decoding: request.head, as: UTF8.self).split(separator: "\r\n").first { $0.hasPrefix(mark) }
    let isGood = line.map { server.isValid(String($0.dropFirst(mark.count))) } ?? false
    return demoResponse(isGood ? "You have 3 messages.\n" : nil)
  }

  private static func text(port: UInt16, api: UInt16, tokens: UInt16, pins: [String]) -> String {
    """
    listeners:
      main:
        address: localhost:\(port)
        allow_users: [\(Users.currentUID)]

    credentials:
      mail:                            # an account: no token in this file
        origins: [https://localhost:\(api)]
        oauth2:
          token_url: https://localhost:\(tokens)/token
          grant: device_code
          device_authorization_url: https://localhost:\(tokens)/device
          client_id: bearerd-demo
          store: mail.login
          ca_file: ca.pem
          pins:
            - \(pins[0])
            - \(pins[1])  # backup

    services:
      mail:                            # http://localhost/mail/…
    \(verifiedUpstream("https://localhost:\(api)/", pins: pins, credential: "mail"))

    control: control.sock

    """
  }
}
