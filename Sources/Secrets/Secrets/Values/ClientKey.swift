package import Settings
internal import System
package import TLS

/// Combines a client certificate with its private key.
package enum ClientKey {
  /// Returns a PEM certificate with its private key, which is read now from a file or a systemd credential.
  package static func certificate(
    _ certificate: [UInt8], name: String, key source: SecretSource
  ) throws(ClientCertificate.Problem) -> ClientCertificate {
    switch SecretFileSnapshot(of: source, mustLock: false).content {
    case .failure(let problem): throw ClientCertificate.Problem(.unread, problem.sentence)
    case .success(let content):
      defer { content.memory.wipe() }
      return try ClientCertificate(
        pem: certificate, name: name, key: UnsafeRawBufferPointer(rebasing: content.memory.bytes[..<content.count]),
        keyName: source.name)
    }
  }
}
