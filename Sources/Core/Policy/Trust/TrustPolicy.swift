/// The pins that a service requires, in addition to a valid chain and name.
package struct PinPolicy: Sendable, Hashable {
  package enum Mode: String, CaseIterable, Sendable { case enforce, report }
  /// Distinct, in the order of the configuration: the first is the pin of the key in use. Empty if nothing is pinned.
  package var pins: [Pin] = []
  package var mode = Mode.enforce
  /// Seconds since 1970 at which the pins expire; `nil` if they do not expire. After that, bearerd sends nothing to the
  /// upstream.
  package var expires: Int64?
  /// Name of the entry of `pin_policies` that has these pins; `nil` if the server's own keys have them.
  package var policy: String?
  package init() {}
}

/// What a service requires of TLS connections.
package struct TrustPolicy: Sendable, Hashable {
  package var pinning = PinPolicy()
  /// Absolute path of a PEM file whose certificates replace the system's authorities; `nil` for the system's.
  package var caFile: String?
  package init() {}
}
