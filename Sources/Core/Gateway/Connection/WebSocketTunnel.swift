internal import HTTP1
internal import Policy
internal import Primitives

/// Computes the SHA-1 of bytes. `nil` on failure.
package typealias WebSocketHash = @Sendable (Span<UInt8>) -> [UInt8]?

/// A WebSocket on a stream of an HTTP/2 connection to an upstream (RFC 8441). Such a request has no `Sec-WebSocket-Key`, so bearerd
/// itself responds to the client's key.
enum WebSocketTunnel {
  /// Follows the key in the hashed text (RFC 6455 section 1.3).
  private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
  /// Number of bytes of a key, before base64.
  private static let keySize = 16

  /// Returns the only key of the request. `nil` if there is none, several, or an invalid one.
  static func key(in head: RequestHead) -> [UInt8]? {
    let span = head.bytes.span
    var found: [UInt8]?
    for field in head.fields where FieldName.matches(field.name, of: span, "sec-websocket-key") {
      guard found == nil else { return nil }
      found = Array(head.bytes[field.value])
    }
    guard let found, Base64.decode(found)?.count == keySize else { return nil }
    return found
  }

  /// Returns the lines that a 101 response needs, and that a response over HTTP/2 does not have.
  static func lines(for key: [UInt8], _ hash: WebSocketHash) -> [UInt8] {
    var lines = "connection: upgrade\r\nupgrade: websocket\r\n"
    let text = key + Array(suffix.utf8)
    if let digest = hash(text.span) { lines += "sec-websocket-accept: \(Base64.encode(digest))\r\n" }
    return Array(lines.utf8)
  }
}

extension Exchange {
  /// Whether the request that is sent asks for a switch of protocols.
  package var asksForTunnel: Bool { mutating get { forwarding.upgrade != nil } }

  /// Whether the request opens a WebSocket that an HTTP/2 connection can carry. Call this after the request was decided.
  package var opensWebSocket: Bool {
    mutating get {
      guard let upgrade = forwarding.upgrade, upgrade == .websocket, head.method == .get, isRequestComplete else {
        return false
      }
      // The upstream would check the signature of a CONNECT request.
      if let grant, let snapshot, snapshot.rules.grants[grant].signsForms { return false }
      return WebSocketTunnel.key(in: head) != nil
    }
  }

  /// The lines that become part of the response's head if the HTTP/2 upstream accepts the WebSocket. `nil` if the request opens none.
  var webSocketLines: [UInt8]? {
    mutating get {
      guard forwarding.upgrade != nil, let snapshot, let key = WebSocketTunnel.key(in: head) else { return nil }
      return WebSocketTunnel.lines(for: key, snapshot.webSocketHash)
    }
  }
}
