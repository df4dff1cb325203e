/// The protocol of the requests on a connection to an upstream. The raw value is the name in ALPN (RFC 7301). The key
/// `protocol` of a service says which ones its connections may speak (`ServiceProtocol`).
package enum ApplicationProtocol: String, Hashable, Sendable {
  /// HTTP/1.1. A connection also uses HTTP/1.1 if it offers HTTP/1.1 and the upstream selects no protocol.
  case http1 = "http/1.1"
  /// HTTP/2 (RFC 9113).
  case http2 = "h2"

  /// The name for people.
  package var name: String {
    switch self {
    case .http1: "HTTP/1.1"
    case .http2: "HTTP/2"
    }
  }

  /// The number of the HTTP version, for the log and for labels of metrics.
  package var version: String {
    switch self {
    case .http1: "1.1"
    case .http2: "2"
    }
  }
}
