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
  /// Whether the entry of `pin_policies` also applies to all names below its name.
  package var includesSubdomains = false
  package init() {}
}

/// How a service learns whether an upstream's certificate was revoked. At least one property is set.
package struct RevocationPolicy: Sendable, Hashable {
  package enum Stapling: String, Sendable { case use, require }
  /// Absolute path of a file with revocation lists, which must cover the upstream's certificate. `nil` without lists.
  package var listFile: String?
  /// `nil` if bearerd requests no stapled OCSP response.
  package var stapling: Stapling?
  package init() {}
}

/// What a service requires of TLS connections.
package struct TrustPolicy: Sendable, Hashable {
  package var pinning = PinPolicy()
  /// Absolute path of a PEM file whose certificates replace the system's authorities; `nil` for the system's.
  package var caFile: String?
  /// `nil` if revocation is not checked.
  package var revocation: RevocationPolicy?
  package init() {}

  /// The files of a trust store. Policies with the same files share a store.
  package struct Files: Sendable, Hashable {
    package let caFile: String?
    package let listFile: String?

    /// Whether only the system's authorities are trusted, without revocation lists.
    package var areSystem: Bool { caFile == nil && listFile == nil }
  }

  package var files: Files { Files(caFile: caFile, listFile: revocation?.listFile) }
}
