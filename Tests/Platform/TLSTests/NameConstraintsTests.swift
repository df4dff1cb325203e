import TestServer
import Policy
import TLS
import TestSupport
import Testing

/// Name constraints are compared with the requested host, and not only with the names of the leaf.
@Suite struct NameConstraintsTests {
  struct Row: Sendable {
    let host: String
    let constraints: String
    var names: [String] = []
    var addresses: [String] = []
    let isAccepted: Bool
  }

  static let rows = [
    Row(host: "bar.up.test", constraints: "excluded;DNS:bar.up.test", names: ["*.up.test"], isAccepted: false),
    Row(host: "bar.up.test", constraints: "excluded;DNS:BAR.Up.test", names: ["*.up.test"], isAccepted: false),
    Row(host: "foo.up.test", constraints: "excluded;DNS:bar.up.test", names: ["*.up.test"], isAccepted: true),
    Row(host: "foobar.up.test", constraints: "excluded;DNS:bar.up.test", names: ["*.up.test"], isAccepted: true),
    Row(
      host: "bar.up.test", constraints: "permitted;DNS:foo.up.test", names: ["*.up.test", "foo.up.test"],
      isAccepted: false),
    Row(host: "bar.up.test", constraints: "permitted;DNS:up.test", names: ["*.up.test"], isAccepted: true),
    Row(host: "bar.up.test", constraints: "excluded;IP:127.0.0.0/255.0.0.0", names: ["*.up.test"], isAccepted: true),
    Row(
      host: "127.0.0.1", constraints: "excluded;IP:127.0.0.0/255.0.0.0", addresses: ["127.0.0.1"], isAccepted: false),
    Row(host: "127.0.0.1", constraints: "excluded;IP:10.0.0.0/255.0.0.0", addresses: ["127.0.0.1"], isAccepted: true),
    Row(
      host: "127.0.0.1", constraints: "permitted;IP:127.0.0.0/255.0.0.0", addresses: ["127.0.0.1"], isAccepted: true),
  ]

  @Test(arguments: rows, [false, true])
  func `T65: intermediates and roots are accepted only for hosts that their constraints permit`(
    row: Row, isRoot: Bool
  ) throws {
    var options = Certificate.Options()
    (options.isCA, options.commonName) = (true, "constrained")
    options.nameConstraints = row.constraints
    let root = try Authority().root
    let constrained = isRoot ? try Certificate(options) : try Certificate(options, issuer: root)
    var leaf = Certificate.Options()
    (leaf.dnsNames, leaf.ipAddresses) = (row.names, row.addresses)
    let chain = [try Certificate(leaf, issuer: constrained)] + (isRoot ? [] : [constrained])
    let server = try UpstreamServer(chain: chain, options: .init(), handler: echo)
    defer { server.stop() }
    let anchor = isRoot ? constrained : root
    let context = try context(try TrustStore(pem: Array(anchor.pem.utf8), name: "trust"), host: row.host)
    guard row.isAccepted else {
      let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
      #expect(error.kind == .certificateInvalid, "\(error)")
      #expect(server.finish().allSatisfy(\.bytes.isEmpty) && context.statistics.kept == 0)
      return
    }
    var client = try Client.connect(context, port: server.port)
    #expect(try client.exchange("hello") == "hello")
    client.closeNotify()
  }
}
