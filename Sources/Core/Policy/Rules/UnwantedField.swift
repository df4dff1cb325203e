internal import HTTP1

/// Fields, other than fields for credentials, that are removed from a request wholly or in part.
package enum UnwantedField: UInt8, CaseIterable, Sendable {
  case proxy, keepAlive, contentLength, proxyConnection, transferEncoding
  case upgrade, secFetchSite, aim, webSocketExtensions
  /// `Sec-WebSocket-Protocol`: only its entries that carry a credential are removed.
  case subprotocols

  /// Creates the unwanted field that a server could confuse with this name, such as `keep_alive` with `keep-alive`
  /// (T14). `nil` if there is none.
  package init?(resembling name: Range<Int>, of bytes: Span<UInt8>) {
    let candidate: UnwantedField
    switch name.count {
    case 5: candidate = .proxy
    case 10: candidate = .keepAlive
    case 14: candidate = .contentLength
    case 16: candidate = .proxyConnection
    case 17: candidate = .transferEncoding
    default: return nil
    }
    guard FieldName.resembles(name, of: bytes, candidate.name) else { return nil }
    self = candidate
  }

  package var name: String {
    switch self {
    case .proxy: "proxy"
    case .keepAlive: "keep-alive"
    case .contentLength: "content-length"
    case .proxyConnection: "proxy-connection"
    case .transferEncoding: "transfer-encoding"
    case .upgrade: "upgrade"
    case .secFetchSite: "sec-fetch-site"
    case .aim: "a-im"
    case .webSocketExtensions: "sec-websocket-extensions"
    case .subprotocols: "sec-websocket-protocol"
    }
  }

  var source: String {
    switch self {
    case .proxy: "CGI"
    case .keepAlive, .contentLength, .proxyConnection, .transferEncoding: "servers that fold names"
    case .upgrade: "RFC 9110, 7.8"
    case .secFetchSite: "W3C Fetch Metadata"
    case .aim: "RFC 3229"
    case .webSocketExtensions, .subprotocols: "RFC 6455"
    }
  }
}
