internal import Crypto
package import Policy

/// Pin, names and validity of a certificate, for `bearerctl pin`.
package struct CertificateDescription: Sendable, Equatable {
  package enum Role: String, Sendable { case leaf, intermediate, root }
  package let subject: String
  package let issuer: String
  package let role: Role
  package let pin: Pin
  /// Seconds since 1970; `nil` if the time cannot be read.
  package let notBefore: Int64?
  /// Seconds since 1970; 0 if the time cannot be read.
  package let notAfter: Int64
  /// The key's type, and its size or curve: `RSA 2048`, `EC prime256v1`, `ED25519`.
  package let key: String

  /// `nil` if the key cannot be read.
  init?(_ certificate: CertificateView, role: Role? = nil) {
    guard let pin = Pin(digest: certificate.keyDigest) else { return nil }
    self.pin = pin
    subject = certificate.subject
    issuer = certificate.issuer
    notBefore = certificate.notBefore == .max ? nil : certificate.notBefore
    notAfter = certificate.notAfter
    key = certificate.keyName
    let ownRole: Role = !certificate.isCA ? .leaf : certificate.isSelfSigned ? .root : .intermediate
    self.role = role ?? ownRole
  }
}

package enum Certificates {
  /// Describes the certificates of a PEM (or one DER) file, in file order.
  package static func describe(file bytes: [UInt8]) throws(TLSError) -> [CertificateDescription] {
    OpenSSLLibrary.start()
    let certificates = try CertificateFile(bytes, name: "certificate file")
    return certificates.views.compactMap { CertificateDescription($0) }
  }

  /// Returns, for each certificate of a PEM (or one DER) file, whether it may issue certificates for the host.
  package static func mayIssue(file bytes: [UInt8], for host: HostName) throws(TLSError) -> [Bool] {
    OpenSSLLibrary.start()
    let certificates = try CertificateFile(bytes, name: "certificate file")
    return certificates.views.map { $0.mayIssue(for: host) }
  }
}

extension VerifiedSession {
  /// The verified chain, leaf first. Empty for a resumed session.
  package var verifiedChain: [CertificateDescription] { connection.describeVerifiedChain() }
}
