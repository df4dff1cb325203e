package import Policy

/// The HTTP version of the last connection to an upstream.
package struct NegotiatedVersion: Sendable, Equatable {
  /// Why the connection uses the version. The raw value is the name in the status.
  package enum Cause: String, Sendable {
    /// The connection could use only one version.
    case configured
    /// The upstream has selected the version in the TLS handshake (ALPN).
    case selected
    /// The upstream has selected no version in the TLS handshake.
    case notSelected = "not-selected"
    /// The upstream has refused a request over HTTP/2 (HTTP_1_1_REQUIRED).
    case required
  }

  package let applicationProtocol: ApplicationProtocol
  package let cause: Cause
  /// Seconds since 1970.
  package let at: Int64

  package init(_ applicationProtocol: ApplicationProtocol, _ cause: Cause, at: Int64) {
    (self.applicationProtocol, self.cause, self.at) = (applicationProtocol, cause, at)
  }

  /// Returns the version that says more about the upstream: the one that the upstream requires, otherwise the later one.
  package static func merged(_ one: NegotiatedVersion?, _ other: NegotiatedVersion?) -> NegotiatedVersion? {
    guard let one, let other else { return one ?? other }
    if (one.cause == .required) != (other.cause == .required) { return one.cause == .required ? one : other }
    return one.at >= other.at ? one : other
  }
}

/// The HTTP version with which a request would be sent, and why, for `explain`.
package enum VersionChoice: Sendable, Equatable {
  /// HTTP/2 or HTTP/1.1, as the upstream selects in the TLS handshake.
  case ofUpstream
  /// The version that `protocol` of the service names.
  case configured(ApplicationProtocol)
  /// HTTP/1.1, because a connection without TLS negotiates no version.
  case withoutTLS
  /// HTTP/1.1, because the request asks for an upgrade.
  case upgrade
  /// HTTP/1.1, because a login by NTLM or Negotiate applies to the whole connection.
  case login
  /// HTTP/1.1, because each client has its own connections (`dedicated_connections`).
  case dedicated
  /// HTTP/1.1, because the credential is sent only when the upstream asks for it.
  case challenge
}
