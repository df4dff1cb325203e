/// A service's demands on the certificate beyond chain and name.
package struct PinPolicy: Sendable, Hashable {
  package enum Mode: String, Sendable { case enforce, report }
  /// Sorted, distinct. Empty: no pinning.
  package var pins: [Pin] = []
  package var mode = Mode.enforce
  /// Seconds since 1970; afterwards nothing is sent.
  package var expires: Int64?
  package init() {}
}

/// The proof that a service wants of TLS: together with the origin, the credential and the generation, the identity of a session.
package struct TrustPolicy: Sendable, Hashable {
  package var pinning = PinPolicy()
  /// A PEM file that replaces the system's store; absolute.
  package var caFile: String?
  package init() {}
}
