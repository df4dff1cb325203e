internal import TestServer
internal import Policy
internal import Synchronization

/// A test server in place of a real upstream of the user's configuration.
final class EmbeddedUpstream {
  let origin: Origin
  private let script: UpstreamScript
  private let authority: TestAuthority
  private(set) var server: UpstreamServer
  private var epoch = 0

  /// - Parameter scheme: For `http`, the origin is 127.0.0.1, because bearerd allows plain HTTP only on loopback.
  init(_ scheme: Origin.Scheme, authority: TestAuthority, script: UpstreamScript) throws {
    self.script = script
    self.authority = authority
    server = try EmbeddedUpstream.server(
      [authority.leaf], port: 0, isPlain: scheme == .http, script: script, epoch: 0)
    origin = try Origin(parsing: "\(scheme.rawValue)://\(scheme == .http ? "127.0.0.1" : "localhost"):\(server.port)")
  }

  /// Replaces the server by a new one at the same port. `chain` is its certificates; `nil` for a valid certificate.
  /// - Parameter staple: The OCSP response to staple; `nil` to staple none.
  func replace(by chain: [Certificate]?, staple: [UInt8]? = nil) throws {
    server.stop()
    epoch += 1
    server = try EmbeddedUpstream.server(
      chain ?? [authority.leaf], port: origin.port, isPlain: origin.scheme == .http, script: script,
      epoch: epoch, staple: staple)
  }

  /// Number of bytes that the current server has received after decryption.
  var bytes: Int { server.records.reduce(0) { $0 + $1.bytes.count } }

  private static func server(
    _ chain: [Certificate], port: UInt16, isPlain: Bool, script: UpstreamScript, epoch: Int, staple: [UInt8]? = nil
  ) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.isPlain = isPlain
    options.port = port
    options.staple = staple
    let own = Mutex(port)
    let server = try UpstreamServer(chain: isPlain ? [] : chain, options: options) { connection in
      script.serve(connection, of: own.withLock { $0 }, number: epoch << 32 + connection.number)
    }
    own.withLock { $0 = server.port }
    return server
  }
}
