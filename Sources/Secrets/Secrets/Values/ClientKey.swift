package import Settings
internal import System
package import TLS

/// Combines a client certificate with its private key.
package enum ClientKey {
  /// Returns a PEM certificate with its private key. Reads the key and its passphrase now, each from a file or a systemd
  /// credential.
  package static func certificate(
    _ certificate: [UInt8], name: String, key: SecretSource, passphrase: SecretSource?
  ) throws(ClientCertificate.Problem) -> ClientCertificate {
    try withBytes(of: key) { (pem) throws(ClientCertificate.Problem) in
      try withBytes(of: passphrase) { (passphrase) throws(ClientCertificate.Problem) in
        try ClientCertificate(
          pem: certificate, name: name, key: pem ?? UnsafeRawBufferPointer(start: nil, count: 0), keyName: key.name,
          passphrase: passphrase)
      }
    }
  }

  private static func withBytes<Result>(
    of source: SecretSource?, _ body: (UnsafeRawBufferPointer?) throws(ClientCertificate.Problem) -> Result
  ) throws(ClientCertificate.Problem) -> Result {
    guard let source else { return try body(nil) }
    switch SecretFileSnapshot(of: source, mustLock: false).content {
    case .failure(let problem): throw ClientCertificate.Problem(.unread, problem.sentence)
    case .success(let content):
      defer { content.memory.wipe() }
      return try body(UnsafeRawBufferPointer(rebasing: content.memory.bytes[..<content.count]))
    }
  }
}
