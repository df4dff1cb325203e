/// Where a service's requests go.
package struct Upstream: Sendable, Equatable {
  package let origin: Origin
  /// Canonical, begins and ends with `/`.
  package let basePath: [UInt8]
  package var allowedAddresses: [AddressBlock] = []

  /// `https://api.example.com/v1/`. A query, fragment, userinfo or dot segment is an error; a missing closing slash is added.
  package init(parsing text: String) throws(OriginError) { fatalError() }

  /// May a connection for this upstream go to this address? A literal IP or `localhost` in the upstream's URL is its own permission.
  package func permits(_ address: IPAddress) -> Bool { fatalError() }
}

/// SHA-256 of a SubjectPublicKeyInfo.
package struct Pin: Hashable, Sendable, CustomStringConvertible {
  /// 32 bytes.
  package let digest: [UInt8]
  package init?(digest: [UInt8]) { fatalError() }
  /// `sha256/BASE64`, `sha256//BASE64` or `BASE64`; the error says the corrected form where there is one (vectors: hex, base64url, lengths, trailing bits).
  package init(parsing text: String) throws(OriginError) { fatalError() }
  /// `sha256/BASE64`
  package var description: String { fatalError() }
}

/// What a service asks of the certificate beyond chain and name.
package struct PinPolicy: Sendable, Hashable {
  package enum Mode: String, Sendable { case enforce, report }
  /// Sorted, distinct. Empty: no pinning.
  package var pins: [Pin] = []
  package var mode = Mode.enforce
  /// Seconds since 1970; afterwards nothing is sent.
  package var expires: Int64?
  package init() {}
}

/// What TLS has to prove for a service: together with the origin, the credential and the generation, the identity of a session.
package struct TrustPolicy: Sendable, Hashable {
  package var pinning = PinPolicy()
  /// A PEM file that replaces the system's store; absolute.
  package var caFile: String?
  package init() {}
}

/// All in milliseconds; nil: none.
package struct Timeouts: Sendable, Equatable {
  package var connect: UInt64 = 10_000
  package var handshake: UInt64 = 10_000
  package var responseHead: UInt64? = 600_000
  package var bodySilence: UInt64? = 600_000
  package var total: UInt64?
  package init() {}
}
