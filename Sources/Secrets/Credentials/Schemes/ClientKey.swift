@_spi(SecretBytes) package import Secrets
internal import System
package import TLS

/// Puts a certificate and its key together. The bytes of the key are seen here and in `TLS`, in locked memory that is wiped.
package enum ClientKey {
  /// Reads the key's file now.
  /// - Parameters:
  ///   - certificate: PEM.
  ///   - key: a file, or one of systemd's.
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
