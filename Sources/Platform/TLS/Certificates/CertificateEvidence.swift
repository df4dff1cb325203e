internal import COpenSSL

/// The certificates of a connection whose verification failed, in DER and leaf first.
package struct CertificateEvidence: Sendable, Equatable {
  /// The certificates that the upstream sent.
  package let served: [[UInt8]]
  /// The chain that was verified. Empty if no chain was verified.
  package let validated: [[UInt8]]
  /// SHA-256 over the hashes of the served certificates.
  package let fingerprint: [UInt8]
  /// When the upstream's own certificate expires, in seconds since 1970. `nil` if unknown.
  package let leafEnds: Int64?

  init(served: [CertificateView], validated: [CertificateView]) {
    self.served = Self.encoded(served)
    self.validated = Self.encoded(validated)
    fingerprint = served.flatMap(\.fingerprint).withUnsafeBytes(sha256)
    leafEnds = served.first.map(\.notAfter).flatMap { $0 > 0 ? $0 : nil }
  }

  /// Returns as many certificates as `ChainLimits` allows.
  private static func encoded(_ certificates: [CertificateView]) -> [[UInt8]] {
    var (result, size): ([[UInt8]], Int) = ([], 0)
    for certificate in certificates.prefix(ChainLimits.certificates) {
      let der = certificate.der
      size += der.count
      guard !der.isEmpty, size <= ChainLimits.bytes else { break }
      result.append(der)
    }
    return result
  }
}

/// Stores the certificates of one connection if its verification fails, also if only `pin_mode: report` accepts it.
package final class EvidenceRecorder {
  private var evidence: CertificateEvidence?

  package init() {}

  func record(_ evidence: CertificateEvidence) { self.evidence = evidence }

  /// Returns the certificates once. `nil` if verification has not failed.
  package func take() -> CertificateEvidence? {
    defer { evidence = nil }
    return evidence
  }
}

extension CertificateView {
  fileprivate var der: [UInt8] {
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_X509(pointer, &der)
    defer { bearerd_OPENSSL_free(der) }
    guard length > 0, let der else { return [] }
    return Array(UnsafeBufferPointer(start: der, count: Int(length)))
  }
}
