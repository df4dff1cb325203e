internal import Console
internal import Synchronization
internal import System
internal import TestServer

/// The environment of the gRPC demo: certificate authority, gRPC servers, token, directory and configuration.
final class GRPCDemoStage {
  let token: String
  let directory: TemporaryDirectory
  let upstream: UpstreamServer
  /// A server with another key than the upstream, but with a certificate for the same name.
  let impostor: UpstreamServer
  let configuration: String
  var configurationFile: String { "\(directory.path)/bearerd.yaml" }
  let announcer: GRPCAnnouncer

  static let method = "/demo.Greeter/SayHello"

  init(port: UInt16) throws {
    do {
      let token = "demo-\(randomText(11))"
      self.token = token
      directory = try TemporaryDirectory()
      let authority = try Certificate.authority("bearerd demo CA")
      let leaf = try Certificate(.localhost, issuer: authority)
      let backup = try Certificate(.localhost, issuer: authority)
      let announcer = GRPCAnnouncer(token: token)
      self.announcer = announcer
      func server(_ chain: [Certificate]) throws -> UpstreamServer {
        var options = UpstreamServer.Options()
        options.protocols = ["h2"]
        return try UpstreamServer(
          chain: chain, options: options, handler: UpstreamServer.http2Handler { announcer.steps(for: $0) })
      }
      upstream = try server([leaf])
      impostor = try server([Certificate(.localhost, issuer: authority)])
      configuration = GRPCDemoStage.text(
        port: port, upstream: upstream.port, impostor: impostor.port, pins: [leaf.pin, backup.pin])
      try directory.write("ca.pem", authority.pem)
      try directory.write("demo.token", token + "\n")
      try directory.write("bearerd.yaml", configuration)
      try directory.write("demo.proto", GRPCDemoStage.interface)
    } catch let error as TestServerError {
      throw Failure(Failure.system, error.description)
    }
  }

  func end() {
    upstream.stop()
    impostor.stop()
    directory.remove()
  }

  private static func text(port: UInt16, upstream: UInt16, impostor: UInt16, pins: [String]) -> String {
    """
    listeners:
      main:
        address: localhost:\(port)
        allow_users: [\(Users.currentUID)]

    credentials:
      demo:                            # may be sent only to these two servers
        origins: [https://localhost:\(upstream), https://localhost:\(impostor)]
        bearer: { file: demo.token }

    services:
      greeter:                         # all gRPC services, except the next one
        at: /
        upstream: https://localhost:\(upstream)/
        ca_file: ca.pem
        pins:
          - \(pins[0])
          - \(pins[1])  # backup
        credential: demo
        rules:
          - { match: \(method), methods: [POST] }

      impostor:                        # a server with another key
        at: /demo.Impostor/
        upstream: https://localhost:\(impostor)/demo.Impostor/
        ca_file: ca.pem
        pins:
          - \(pins[0])
          - \(pins[1])
        credential: demo
        rules:
          - { match: "/**" }

    control: control.sock

    """
  }

  /// The interface of the server, for grpcurl.
  private static let interface = """
    syntax = "proto3";
    package demo;
    message Text { string text = 1; }
    service Greeter { rpc SayHello(Text) returns (Text); rpc Delete(Text) returns (Text); }
    service Impostor { rpc SayHello(Text) returns (Text); }

    """
}

/// Responds to the calls that both servers receive, and prints the calls while `isOn`.
final class GRPCAnnouncer: Sendable {
  private let token: String
  private let state = Mutex(false)

  init(token: String) { self.token = token }

  var isOn: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func steps(for request: HTTP2Request) -> [HTTP2Step] {
    guard request.event == .end else { return [] }
    let authorization = request["authorization"]
    if isOn {
      let shown = authorization.map { "authorization: \($0)".harmless } ?? "(no credential)"
      StandardOutput.print("server received   \(request.path.harmless)   \(shown)\n")
    }
    let type = (name: "content-type", value: "application/grpc")
    guard authorization == "Bearer \(token)" else {
      return [.head(200, [type, ("grpc-status", "16"), ("grpc-message", "I do not know you.")], ends: true)]
    }
    guard let name = GRPCMessage.decode(request.body) else {
      return [.head(200, [type, ("grpc-status", "3"), ("grpc-message", "This is not a name.")], ends: true)]
    }
    let text = GRPCMessage.encode("Hello, \(name.prefix(64)). Your token is right.")
    return [.head(200, [type]), .data(text), .trailers([("grpc-status", "0")])]
  }
}
