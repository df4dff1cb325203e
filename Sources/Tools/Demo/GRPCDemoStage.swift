internal import Console
internal import System
internal import TestServer

// The environment of the gRPC demo.
extension DemoStage {
  static let grpcMethod = "/demo.Greeter/SayHello"

  /// - Parameter port: the port of bearerd.
  convenience init(grpc port: UInt16) throws {
    var options = UpstreamServer.Options()
    options.protocols = ["h2"]
    try self.init(
      options: options, handler: { announcer in UpstreamServer.http2Handler { announcer.steps(for: $0) } },
      configuration: { DemoStage.text(port: port, upstream: $0, impostor: $1, pins: $2) })
    try directory.write("demo.proto", DemoStage.interface)
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
    \(verifiedUpstream("https://localhost:\(upstream)/", pins: pins, credential: "demo"))
        rules:
          - { match: \(grpcMethod), methods: [POST] }

      impostor:                        # a server with another key
        at: /demo.Impostor/
    \(verifiedUpstream("https://localhost:\(impostor)/demo.Impostor/", pins: pins, credential: "demo"))
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

extension Announcer {
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
