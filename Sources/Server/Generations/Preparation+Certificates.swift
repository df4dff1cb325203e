internal import Loading
internal import Policy
package import Settings
package import TLS

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
  /// Returns the fingerprint of a credential's client certificate. `nil` if the credential has none.
  package func certificateFingerprint(ofGrant index: Int) -> [UInt8]? {
    settings.credentials[index].certificate.flatMap { try? trust.certificate($0).fingerprint }
  }

  /// Returns the client certificate for a token endpoint (RFC 8705 section 2), or `nil` if the token source uses none.
  package func certificate(for source: TokenSource) throws(TLSError) -> ClientCertificate? {
    guard case .certificate = source.client.authentication else { return nil }
    let credential = settings.credentials.first { $0.name == source.credential }
    return try credential?.certificate.map { (wanted) throws(TLSError) in try trust.certificate(wanted) }
  }
}
