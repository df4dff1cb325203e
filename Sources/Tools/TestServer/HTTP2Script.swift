package typealias HTTP2Fields = [(name: String, value: String)]

/// What has arrived of a request on one stream, when the handler is called.
package struct HTTP2Request: Sendable {
  /// Why the handler is called.
  package enum Event: Sendable, Equatable {
    case head
    /// This data has arrived, and is the last part of `body`.
    case data([UInt8])
    /// The request is complete.
    case end
    /// The client has reset the stream with this code, or violated HTTP/2.
    case failed(UInt32)
  }

  package let connection: Int
  package let stream: Int32
  package internal(set) var event = Event.head
  /// The fields of the head, with the pseudo-header fields.
  package internal(set) var fields: HTTP2Fields
  package internal(set) var body: [UInt8] = []
  package internal(set) var trailers: HTTP2Fields = []

  package init(connection: Int, stream: Int32, fields: HTTP2Fields) {
    (self.connection, self.stream, self.fields) = (connection, stream, fields)
  }

  /// Adds the whole body, and the end of the request.
  package mutating func complete(with body: [UInt8]) { (self.body, event) = (body, .end) }

  package var method: String { self[":method"] ?? "" }
  /// The path and query.
  package var path: String { self[":path"] ?? "" }
  package var authority: String { self[":authority"] ?? "" }

  /// The value of the first field with this name.
  package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// One thing that the server does on a stream. Steps run in order, and a step without a fitting stream does nothing.
package enum HTTP2Step: Sendable {
  /// Sends a head. A status below 200 makes an interim head. Names and values are sent as they are, even if HTTP/2
  /// forbids them.
  case head(Int, HTTP2Fields = [], ends: Bool = false)
  /// Queues data. It is sent when the client's windows allow it.
  case data([UInt8])
  case trailers(HTTP2Fields)
  case end
  case reset(HTTP2Reset)
  /// Announces that the connection takes no further stream, and that streams above `last` were not processed. `nil` for the
  /// last stream of the client.
  case goAway(HTTP2Reset, last: Int32? = nil)
  /// Sends bytes as they are, such as frames that break rules.
  case raw([UInt8])
  /// Runs the steps after this step when the gate opens. Other streams go on.
  case wait(HTTP2Gate)
  /// Closes the connection after the queued bytes that the client's windows allow.
  case close
}

extension [HTTP2Step] {
  /// A whole response.
  package static func response(_ body: String, status: Int = 200, _ fields: HTTP2Fields = []) -> [HTTP2Step] {
    let length = [(name: "content-length", value: "\(body.utf8.count)")]
    return body.isEmpty
      ? [.head(status, length + fields, ends: true)]
      : [.head(status, length + fields), .data([UInt8](body.utf8)), .end]
  }
}

/// Error codes of RFC 9113 section 7.
package enum HTTP2Reset: UInt32, Sendable {
  case noError = 0
  case protocolError, internalError, flowControlError
  case refusedStream = 7
  case cancel, compressionError
  case enhanceYourCalm = 11
  case http11Required = 13
}

/// Lets a test decide when the server goes on.
package final class HTTP2Gate: Sendable {
  private let state = Monitor(false)

  package init() {}

  package func open() { state.withLock { $0 = true } }

  package var isOpen: Bool { state.withLock { $0 } }
}

/// The limits that an HTTP/2 server announces.
package struct HTTP2Options: Sendable {
  /// Maximum number of streams that the client may have open.
  package var streams = 128
  /// Bytes that the client may send on one stream before they are used.
  package var streamWindow = 262_144
  /// Whether the client may send more after its data was read. If not, a stream takes `streamWindow` bytes in total.
  package var opensWindows = true
  /// Whether the client may open WebSockets (RFC 8441).
  package var acceptsWebSockets = true

  package init() {}
}

/// What happened on an HTTP/2 connection.
package struct HTTP2Record: Sendable {
  /// The complete requests, in the order of their ends.
  package internal(set) var requests: [HTTP2Request] = []
  /// The streams that ended before both messages were complete, with their codes.
  package internal(set) var failures: [(stream: Int32, code: UInt32)] = []
  /// The code of the client's GOAWAY frame; `nil` if there was none.
  package internal(set) var goAway: UInt32?
  /// All received bytes.
  package internal(set) var bytes: [UInt8] = []
  /// Why the connection ended, if the client violated HTTP/2.
  package internal(set) var error: String?
}
