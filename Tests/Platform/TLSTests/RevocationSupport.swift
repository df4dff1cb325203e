import Policy
import TLS
import TestServer
import Testing

/// A policy with one or both checks of revocation.
func revocation(lists: Bool = false, stapling: RevocationPolicy.Stapling? = nil) -> RevocationPolicy {
  var policy = RevocationPolicy()
  policy.listFile = lists ? "/etc/bearerd/test.crl" : nil
  policy.stapling = stapling
  return policy
}

extension TrustStore {
  /// A copy with these revocation lists in PEM.
  func with(_ lists: String...) throws -> TrustStore {
    try TrustStore(self, lists: try RevocationLists(Array(lists.joined().utf8), name: "test.crl"))
  }
}

extension Certificate {
  func list(_ change: (inout ListOptions) -> Void = { _ in }) throws -> String {
    var options = ListOptions()
    change(&options)
    return try revocationListPEM(options)
  }

  func response(for leaf: Certificate, _ change: (inout ResponseOptions) -> Void = { _ in }) throws -> [UInt8] {
    var options = ResponseOptions()
    change(&options)
    return try ocspResponse(for: leaf, options)
  }
}

/// Connects once and exchanges text. Returns the error's kind, or `nil` after success. A refused server must get no
/// byte.
func outcome(
  _ context: ClientContext, _ chain: [Certificate], staple: [UInt8]? = nil, version: Int32, now: Int64 = unixTime()
) throws -> TLSError.Kind? {
  var options = UpstreamServer.Options()
  (options.tlsVersion, options.staple) = (version, staple)
  let server = try UpstreamServer(chain: chain, options: options, handler: echo)
  defer { server.stop() }
  do {
    var client = try Client.connect(context, port: server.port, now: now)
    #expect(try client.exchange("hello") == "hello")
    client.closeNotify()
    return nil
  } catch let error as TLSError {
    #expect(server.finish().allSatisfy { $0.bytes.isEmpty })
    return error.kind
  }
}
