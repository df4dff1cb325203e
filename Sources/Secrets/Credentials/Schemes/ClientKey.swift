@_spi(SecretBytes) package import Secrets
internal import System
package import TLS

/// Combines a client certificate with its private key. The key's bytes are only in locked memory that is wiped.
package enum ClientKey {
  /// Returns the certificate with its private key. Reads the key's file now. `certificate` is PEM, and `source` is a
  /// file or a systemd credential.
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
