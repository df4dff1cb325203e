package import Policy

/// Everything that a verdict depends on. Two requests may share a connection or a TLS session only if these are equal.
package struct SessionIdentity: Hashable, Sendable {
  package let origin: Origin
  package let trust: TrustPolicy
  package let trustFingerprint: [UInt8]
  /// Name of the grant, or nil without credential.
  package let grant: String?
  /// Generation of the configuration.
  package let generation: UInt64
  /// `ClientCertificate.fingerprint` of our own, or nil without one.
  package let certificate: [UInt8]?

  package init(
    origin: Origin, trust: TrustPolicy, trustFingerprint: [UInt8], grant: String?, generation: UInt64,
    certificate: [UInt8]? = nil
  ) {
    self.origin = origin
    self.trust = trust
    self.trustFingerprint = trustFingerprint
    self.grant = grant
    self.generation = generation
    self.certificate = certificate
  }
}
