internal import TestServer

/// A certificate authority for one run of the self-test.
struct TestAuthority {
  let root: Certificate
  /// The certificate of all embedded upstreams, whose key is pinned.
  let leaf: Certificate
  /// A certificate whose key is the second pin in the test configuration.
  let backup: Certificate
  let untrustedRoot: Certificate

  init() throws {
    root = try TestAuthority.root("bearerd self-test CA")
    untrustedRoot = try TestAuthority.root("an untrusted authority")
    leaf = try Certificate(TestAuthority.localhost, issuer: root)
    backup = try Certificate(TestAuthority.localhost, issuer: root)
  }

  /// The certificate options of the embedded upstreams.
  static var localhost: Certificate.Options {
    var options = Certificate.Options()
    options.commonName = "localhost"
    options.dnsNames = ["localhost"]
    options.ipAddresses = ["127.0.0.1", "::1"]
    return options
  }

  /// Returns a certificate with a new key and changed options, signed by `issuer`, or by the root for `nil`.
  func leaf(_ change: (inout Certificate.Options) -> Void = { _ in }, by issuer: Certificate? = nil) throws
    -> Certificate
  {
    var options = TestAuthority.localhost
    change(&options)
    return try Certificate(options, issuer: issuer ?? root)
  }

  private static func root(_ name: String) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = name
    options.isCA = true
    return try Certificate(options)
  }
}
