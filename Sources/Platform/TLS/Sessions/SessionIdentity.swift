package import Policy

/// Everything on which the verification of a connection depends. Requests may share a connection or a TLS session only
/// if their identities are equal.
package struct SessionIdentity: Hashable, Sendable {
  package let origin: Origin
  package let trust: TrustPolicy
  package let trustFingerprint: [UInt8]
  /// Name of the grant; `nil` without a credential.
  package let grant: String?
  package let generation: UInt64
  /// Fingerprint of the client certificate; `nil` without one.
  package let certificate: [UInt8]?
  /// The protocols that the handshake offers, the preferred one first.
  package let protocols: [ApplicationProtocol]

  package init(
    origin: Origin, trust: TrustPolicy, trustFingerprint: [UInt8], grant: String?, generation: UInt64,
    certificate: [UInt8]? = nil, protocols: [ApplicationProtocol] = [.http1]
  ) {
    self.origin = origin
    self.trust = trust
    self.trustFingerprint = trustFingerprint
    self.grant = grant
    self.generation = generation
    self.certificate = certificate
    self.protocols = protocols
  }

  /// Returns an identity that offers other protocols, and is otherwise the same.
  package func offering(_ protocols: [ApplicationProtocol]) -> SessionIdentity {
    SessionIdentity(
      origin: origin, trust: trust, trustFingerprint: trustFingerprint, grant: grant, generation: generation,
      certificate: certificate, protocols: protocols)
  }
}
