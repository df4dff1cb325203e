/// Which protocols the connections of a service may speak, from the key `protocol`.
package typealias ServiceProtocol = ServiceOptions.ServiceProtocol

extension ServiceOptions.ServiceProtocol {
  /// The protocols that a TLS handshake offers (RFC 7301), the preferred one first.
  package var offered: [ApplicationProtocol] {
    switch self {
    case .auto: [.http2, .http1]
    case .http1: [.http1]
    case .http2: [.http2]
    }
  }

  /// The protocol of connections without TLS, which negotiate none (RFC 9113 section 3.3).
  package var withoutTLS: ApplicationProtocol {
    switch self {
    case .auto, .http1: .http1
    case .http2: .http2
    }
  }
}
