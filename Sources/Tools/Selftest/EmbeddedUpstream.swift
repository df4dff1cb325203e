internal import TestServer
internal import Policy
internal import Synchronization

/// A server that stands in for one origin of the configuration.
final class EmbeddedUpstream {
  let origin: Origin
  private let script: UpstreamScript
  private let authority: TestAuthority
  private(set) var server: UpstreamServer
  private var generation = 0

  /// `scheme`: http gets a literal loopback address, as the configuration wants it.
  init(_ scheme: Origin.Scheme, authority: TestAuthority, script: UpstreamScript) throws {
    self.script = script
    self.authority = authority
    server = try EmbeddedUpstream.server(
      [authority.leaf], port: 0, isPlain: scheme == .http, script: script, generation: 0)
    origin = try Origin(parsing: "\(scheme.rawValue)://\(scheme == .http ? "127.0.0.1" : "localhost"):\(server.port)")
  }

  /// Another server takes its place, which knows no session of the one before. `nil`: the right one again.
  func replace(by chain: [Certificate]?) throws {
    server.stop()
    generation += 1
    server = try EmbeddedUpstream.server(
      chain ?? [authority.leaf], port: origin.port, isPlain: origin.scheme == .http, script: script,
      generation: generation)
  }

  /// Application bytes that the present server got.
  var bytes: Int { server.records.reduce(0) { $0 + $1.bytes.count } }

  private static func server(
    _ chain: [Certificate], port: UInt16, isPlain: Bool, script: UpstreamScript, generation: Int
  ) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.isPlain = isPlain
    options.port = port
    let own = Mutex(port)
    let server = try UpstreamServer(chain: isPlain ? [] : chain, options: options) { connection in
      script.serve(connection, of: own.withLock { $0 }, number: generation << 32 + connection.number)
    }
    own.withLock { $0 = server.port }
    return server
  }
}
