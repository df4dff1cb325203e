internal import Configuration
internal import Secrets
package import Settings
internal import Synchronization
internal import System
package import TLS

/// The client certificates that were read, with their keys.
package final class ClientCertificates: Sendable {
  private let all = Mutex<[String: ClientCertificate]>([:])

  package subscript(certificate: CredentialSettings.ClientCertificate) -> ClientCertificate? {
    all.withLock { $0[certificate.identifier] }
  }

  /// Reads a certificate and its key, and checks that they match.
  func inspect(_ certificate: CredentialSettings.ClientCertificate) -> ClientCertificateStatus {
    if let known = self[certificate] { return .good(known) }
    let pem: [UInt8]
    do throws(SystemError) {
      pem = try FileReader.read(try FileWalk(certificate.file).validated(), maximum: 1 << 20).bytes
    } catch {
      return .badCertificate("\(certificate.file) cannot be read: \(error)")
    }
    do throws(ClientCertificate.Problem) {
      let made = try ClientKey.certificate(
        pem, name: certificate.file, key: certificate.key, passphrase: certificate.passphrase)
      all.withLock { $0[certificate.identifier] = made }
      return .good(made)
    } catch {
      switch error.part {
      case .certificate: return .badCertificate(error.sentence)
      case .key: return .badKey(error.sentence)
      case .unread: return .unreadKey(error.sentence)
      }
    }
  }
}

extension ClientCertificateStatus {
  fileprivate static func good(_ certificate: ClientCertificate) -> Self {
    let validity = certificate.validity
    return .good(begins: validity.begins, ends: validity.ends, isForClients: certificate.isForClients)
  }
}
