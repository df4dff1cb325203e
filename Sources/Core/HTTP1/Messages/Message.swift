internal import Primitives

/// One field line of a head, as ranges into the bytes of the head.
package struct Field: Sendable, Equatable {
  package var name: Range<Int>
  /// The field's value without surrounding spaces and tabs.
  package var value: Range<Int>
  package var known: KnownField

  package init(name: Range<Int>, value: Range<Int>, known: KnownField) {
    self.name = name
    self.value = value
    self.known = known
  }
}

/// HTTP/1.0 or HTTP/1.1. A higher minor version is read as 1.1 (RFC 9110 §2.5).
public enum Version: Sendable { case http10, http11 }

/// How the end of a body is determined (RFC 9112 §6.3).
public enum BodyLength: Sendable, Equatable {
  case none
  case length(UInt64)
  case chunked
  /// Responses only: the body ends when the peer closes the connection.
  case untilClose
}

/// A valid request head, with its original bytes.
package struct RequestHead: Sendable {
  /// The head as received, to which all ranges point.
  package var bytes: [UInt8] = []
  package var method: Method = .get
  package var methodRange = 0..<0
  /// The path and query (RFC 9112 §3.2), `*`, or for CONNECT the authority. Never empty.
  package var target = 0..<0
  /// The authority of an absolute-form target such as `http://host/path` (RFC 9112 §3.2.2); `nil` for other forms.
  package var absoluteAuthority: Range<Int>?
  package var version = Version.http11
  package var fields: [Field] = []
  /// The value of the `Host` field; `nil` only for HTTP/1.0.
  package var host: Range<Int>?
  package var bodyLength = BodyLength.none
  /// Whether the client's connection may stay open after this request (RFC 9112 §9.3).
  package var isKeepAlive = true
  /// Whether the `Connection` field lists an option other than `close` and `keep-alive`.
  package var hasConnectionOptions = false
  /// Whether an HTTP/1.1 request has `Expect: 100-continue`.
  package var expectsContinue = false
  /// Whether one of `fields` is an `Authorization` field.
  package var hasAuthorization = false

  package init() {}

  package var hasChunkedBody: Bool {
    if case .chunked = bodyLength { true } else { false }
  }

  /// Overwrites `bytes`, and resets the head for reuse.
  package mutating func wipe() {
    bytes.wipe()
    if !fields.isEmpty { fields.removeAll(keepingCapacity: fields.capacity <= maximumKeptFields) }
    method = .get
    methodRange = 0..<0
    target = 0..<0
    absoluteAuthority = nil
    version = .http11
    host = nil
    bodyLength = .none
    isKeepAlive = true
    hasConnectionOptions = false
    expectsContinue = false
    hasAuthorization = false
  }
}

/// A valid response head. For the length of the body, see `bodyLength(respondingTo:)`.
package struct ResponseHead: Sendable {
  /// The head as received or as repaired, to which all ranges point.
  package var bytes: [UInt8] = []
  /// The status code, from 100 to 999.
  package var status = 0
  package var reason = 0..<0
  package var version = Version.http11
  package var fields: [Field] = []
  /// The body length that the fields declare, regardless of the request method and the status.
  package var declaredLength = BodyLength.untilClose
  /// Whether the connection may serve another request after this response (RFC 9112 §9.3).
  package var isKeepAlive = true
  /// Whether the `Connection` field lists an option other than `close` and `keep-alive`.
  package var hasConnectionOptions = false
  package var repairs = HeadRepairs.none

  package init() {}

  /// Overwrites `bytes`, and resets the head for reuse.
  package mutating func wipe() {
    bytes.wipe()
    if !fields.isEmpty { fields.removeAll(keepingCapacity: fields.capacity <= maximumKeptFields) }
    repairs = .none
    status = 0
    reason = 0..<0
    version = .http11
    declaredLength = .untilClose
    isKeepAlive = true
    hasConnectionOptions = false
  }

  /// Returns the length of the body in the response to a request with this method (RFC 9112 §6.3).
  package func bodyLength(respondingTo method: Method) -> BodyLength {
    if method == .head || status < 200 || status == 204 || status == 304 { return .none }
    return declaredLength
  }

  /// Whether the end of this response is certain, so that another response can follow on the connection.
  var hasClearEnd: Bool {
    switch declaredLength {
    case .untilClose: status < 200 || status == 204 || status == 304
    // RFC 9112 §6.3 forbids a body after 204, but a server that declares one may send it.
    case .chunked: status != 204
    case .length(let length): status != 204 || length == 0
    case .none: true
    }
  }
}

/// The trailer fields after a body.
package struct Trailers: Sendable {
  package var fields: [Field] = []
  /// The bytes to which the ranges of `fields` point.
  package var bytes: [UInt8] = []
  /// Whether fields were dropped that may not be trailers (RFC 9110 §6.5.1).
  package var hasDropped = false

  package init() {}

  package var isEmpty: Bool { fields.isEmpty }
}

/// The request methods that bearerd treats specially. All others are `other`.
public enum Method: UInt8, Sendable, CaseIterable {
  case get, head, post, put, delete, patch, options, trace, connect, other

  /// Whether a request without a response can safely be sent again (RFC 9110 §9.2.2).
  public var isIdempotent: Bool {
    switch self {
    case .get, .head, .put, .delete, .options, .trace: true
    case .post, .patch, .connect, .other: false
    }
  }
}

/// Maximum capacity of `fields` that `wipe` keeps.
private let maximumKeptFields = 32
