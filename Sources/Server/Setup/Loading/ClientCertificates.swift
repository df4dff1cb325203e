internal import Configuration
internal import Credentials
internal import Policy
package import Secrets
internal import Synchronization
internal import System
package import TLS

/// The client certificates of one reading of the configuration: each is read once, for all workers.
final class ClientCertificates: Sendable {
  private let all = Mutex<[String: ClientCertificate]>([:])

  subscript(certificate: CredentialSettings.ClientCertificate) -> ClientCertificate? {
    all.withLock { $0[certificate.identifier] }
  }

  /// Reads both files.
  func look(at certificate: CredentialSettings.ClientCertificate) -> ClientCertificateLook {
    if let known = self[certificate] { return .good(known) }
    let pem: [UInt8]
    do throws(SystemError) {
      pem = try FileReader.read(try FileWalk(certificate.file).judged(), maximum: 1 << 20).bytes
    } catch {
      return .badCertificate("\(certificate.file) cannot be read: \(error)")
    }
    do throws(ClientCertificate.Problem) {
      let made = try ClientKey.certificate(pem, name: certificate.file, key: SecretSource(certificate.key))
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

extension ClientCertificateLook {
  fileprivate static func good(_ certificate: ClientCertificate) -> Self {
    let validity = certificate.validity
    return .good(begins: validity.begins, ends: validity.ends, isForClients: certificate.isForClients)
  }
}

extension Preparation.Trust {
  /// The certificate that is shown to an origin with a credential; nil: none. The grant's list ends where this goes, too.
  func certificate(
    of credential: CredentialSettings, _ grant: Grant, for origin: Origin
  ) throws(TLSError) -> ClientCertificate? {
    guard let wanted = credential.certificate else { return nil }
    guard grant.names(origin) else {
      throw TLSError(kind: .noClientCertificate, detail: "credential \(grant.name) is not allowed to go to \(origin)")
    }
    return try certificate(wanted)
  }

  func certificate(_ wanted: CredentialSettings.ClientCertificate) throws(TLSError) -> ClientCertificate {
    if let known = certificates[wanted] { return known }
    let detail = "\(wanted.file), or its key, \(wanted.key.short), could not be read: put it there, and reload"
    throw TLSError(kind: .noClientCertificate, detail: detail)
  }
}

extension Generation {
  /// The certificate of a client that says by it who it is (RFC 8705 section 2).
  package func certificate(for source: TokenSource) throws(TLSError) -> ClientCertificate? {
    guard case .certificate = source.client.authentication else { return nil }
    let credential = settings.credentials.first { $0.name == source.credential }
    return try credential?.certificate.map { (wanted) throws(TLSError) in try trust.certificate(wanted) }
  }
}
