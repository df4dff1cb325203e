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
    root = try Certificate.authority("bearerd self-test CA")
    untrustedRoot = try Certificate.authority("an untrusted authority")
    leaf = try Certificate(.localhost, issuer: root)
    backup = try Certificate(.localhost, issuer: root)
  }

  /// Returns a certificate with a new key, signed by `issuer`, or by the root for `nil`.
  func leaf(by issuer: Certificate? = nil) throws -> Certificate { try Certificate(.localhost, issuer: issuer ?? root) }

  /// Returns a certificate for another host name, signed by the root.
  func certificate(for name: String, isPinned: Bool) throws -> Certificate {
    var options = Certificate.Options.localhost
    options.dnsNames = [name]
    return try Certificate(options, issuer: root, reusingKeyOf: isPinned ? self.leaf : nil)
  }
}
