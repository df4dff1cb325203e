package import Policy

/// A connection to a service's upstream whose verification failed.
package struct VerificationFailure: Sendable {
  package let service: String
  package let upstream: Upstream
  /// The IP address and port of the connection.
  package let address: String
  package let verdict: RefusalCode
  package let pinning: PinPolicy
  /// The certificates that the upstream sent, in DER.
  package let served: [[UInt8]]
  /// The verified chain, in DER. Empty if no chain was verified.
  package let validated: [[UInt8]]
  /// A hash of the served certificates.
  package let fingerprint: [UInt8]
  /// When the upstream's own certificate expires, in seconds since 1970. `nil` if unknown.
  package let leafEnds: Int64?

  package init(
    service: String, upstream: Upstream, address: String, verdict: RefusalCode, pinning: PinPolicy,
    served: [[UInt8]], validated: [[UInt8]], fingerprint: [UInt8], leafEnds: Int64?
  ) {
    self.service = service
    self.upstream = upstream
    self.address = address
    self.verdict = verdict
    self.pinning = pinning
    self.served = served
    self.validated = validated
    self.fingerprint = fingerprint
    self.leafEnds = leafEnds
  }

  /// Whether bearerd reports failures with this code.
  package static func isReported(_ verdict: RefusalCode) -> Bool {
    switch verdict {
    case .pinMismatch, .pinsExpired, .certificateInvalid, .certificateExpired, .certificateRevoked, .hostnameMismatch:
      true
    default: false
    }
  }

  /// What two reports of the same failure have in common.
  package struct Key: Hashable, Sendable {
    let service: String
    let address: String
    let verdict: RefusalCode
    let pins: [Pin]
    let fingerprint: [UInt8]
  }

  package var key: Key {
    Key(service: service, address: address, verdict: verdict, pins: pinning.pins, fingerprint: fingerprint)
  }
}
