/// The protocol of the requests on a connection to an upstream. The raw value is the name in ALPN (RFC 7301).
package enum ApplicationProtocol: String, Hashable, Sendable {
  /// HTTP/1.1. Without TLS, and if the upstream selects no protocol, a connection uses HTTP/1.1.
  case http1 = "http/1.1"
  /// HTTP/2. No service offers HTTP/2 yet.
  case http2 = "h2"

  /// The name for people.
  package var name: String {
    switch self {
    case .http1: "HTTP/1.1"
    case .http2: "HTTP/2"
    }
  }
}
