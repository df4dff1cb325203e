internal import TestServer

/// A certificate authority made for one run, and what it and others sign.
struct TestAuthority {
  let root: Certificate
  /// The embedded upstreams': its key is pinned.
  let leaf: Certificate
  /// The key of the backup pin.
  let backup: Certificate
  /// Another authority, which no trust store has.
  let stranger: Certificate

  init() throws {
    root = try TestAuthority.root("bearerd self-test CA")
    stranger = try TestAuthority.root("an authority that nobody trusts")
    leaf = try Certificate(TestAuthority.localhost, issuer: root)
    backup = try Certificate(TestAuthority.localhost, issuer: root)
  }

  /// For the name and the addresses of the embedded upstreams.
  static var localhost: Certificate.Options {
    var options = Certificate.Options()
    options.commonName = "localhost"
    options.dnsNames = ["localhost"]
    options.ipAddresses = ["127.0.0.1", "::1"]
    return options
  }

  /// Right in everything but the one thing that `change` makes wrong.
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
