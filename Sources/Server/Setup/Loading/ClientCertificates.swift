internal import Configuration
internal import Credentials
internal import Policy
package import Secrets
internal import Synchronization
internal import System
package import TLS

final class ClientCertificates: Sendable {
  private let all = Mutex<[String: ClientCertificate]>([:])

  subscript(certificate: CredentialSettings.ClientCertificate) -> ClientCertificate? {
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

extension ClientCertificateStatus {
  fileprivate static func good(_ certificate: ClientCertificate) -> Self {
    let validity = certificate.validity
    return .good(begins: validity.begins, ends: validity.ends, isForClients: certificate.isForClients)
  }
}

extension Preparation.Trust {
  /// Returns the client certificate of a credential, or `nil` if it has none. Throws if the credential's `origins` do
  /// not include `origin`.
  func certificate(
    of credential: CredentialSettings, _ grant: Grant, for origin: Origin
  ) throws(TLSError) -> ClientCertificate? {
    guard let wanted = credential.certificate else { return nil }
    guard grant.allows(origin) else {
      throw TLSError(kind: .noClientCertificate, detail: "credential \(grant.name) is not allowed to go to \(origin)")
    }
    return try certificate(wanted)
  }

  func certificate(_ wanted: CredentialSettings.ClientCertificate) throws(TLSError) -> ClientCertificate {
    if let known = certificates[wanted] { return known }
    let detail = "\(wanted.file), or its key, \(wanted.key.summary), could not be read: put it there, and reload"
    throw TLSError(kind: .noClientCertificate, detail: detail)
  }
}

extension Generation {
  /// Returns the client certificate for a token endpoint (RFC 8705 section 2), or `nil` if the token source uses none.
  package func certificate(for source: TokenSource) throws(TLSError) -> ClientCertificate? {
    guard case .certificate = source.client.authentication else { return nil }
    let credential = settings.credentials.first { $0.name == source.credential }
    return try credential?.certificate.map { (wanted) throws(TLSError) in try trust.certificate(wanted) }
  }
}
