internal import Policy
internal import TLS

/// Gets a server's certificate chain by a TLS handshake.
enum VerifiedChain {
  /// Verifies a server as the daemon does, also with its pins. Throws `SocketError` or `TLSError`.
  /// - Parameters:
  ///   - store: The authorities of `trust`.
  ///   - served: Set to the certificates that the server sent, not verified, also if the function throws.
  static func of(
    _ upstream: Upstream, trust: TrustPolicy = TrustPolicy(), store: TrustStore,
    served: inout [CertificateDescription]
  ) throws -> (chain: [CertificateDescription], proof: SessionProof) {
    var connection = try VerifiedConnection(upstream, trust: trust, store: store, served: &served)
    let verified = connection.verified
    connection.close()
    return verified
  }
}
