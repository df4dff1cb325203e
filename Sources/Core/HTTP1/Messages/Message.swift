internal import Primitives

/// One field line of a head: ranges into the bytes of that head.
package struct Field: Sendable, Equatable {
  /// The name as it came, case included.
  package var name: Range<Int>
  /// The value without surrounding whitespace.
  package var value: Range<Int>
  package var known: KnownField

  package init(name: Range<Int>, value: Range<Int>, known: KnownField) {
    self.name = name
    self.value = value
    self.known = known
  }
}

/// HTTP/1.0 or HTTP/1.1. A higher minor version is read as 1.1 (RFC 9110 §2.5); another major one is refused.
public enum Version: Sendable { case http10, http11 }

/// How the end of a body is found (RFC 9112 §6.3).
public enum BodyLength: Sendable, Equatable {
  case none
  case length(UInt64)
  case chunked
  /// Responses only: until the peer closes.
  case untilClose
}

/// The head of a request: checked, framed, and kept as the bytes that came.
package struct RequestHead: Sendable {
  /// The head as it came, request line and closing empty line included; behind it, where an absolute-form target has
  /// no path of its own, the `target` that it means. All ranges point in here.
  package var bytes: [UInt8] = []
  package var method: Method = .get
  package var methodRange = 0..<0
  /// The request-target as it came: origin-form or asterisk-form. Of an absolute-form target this is the part
  /// after the authority, `/` before it if it has no path, `*` if it has none and the method is OPTIONS (RFC 9112
  /// §3.2); the authority itself is `absoluteAuthority`. Of CONNECT it is the authority-form, with its port.
  /// Never empty, and never with blanks, control bytes or `#`.
  package var target = 0..<0
  /// The authority of an absolute-form target, for admission to compare with `Host` (RFC 9112 §3.2.2).
  package var absoluteAuthority: Range<Int>?
  package var version = Version.http11
  package var fields: [Field] = []
  /// The value of the one Host field. Absent only in HTTP/1.0.
  package var host: Range<Int>?
  package var bodyLength = BodyLength.none
  /// Whether the connection may serve another request after this one (RFC 9112 §9.3).
  package var isKeepAlive = true
  /// Connection names something besides `close` and `keep-alive`.
  package var hasConnectionOptions = false
  /// `Expect: 100-continue` in an HTTP/1.1 request.
  package var expectsContinue = false

  package init() {}

  package var hasChunkedBody: Bool {
    if case .chunked = bodyLength { true } else { false }
  }

  /// As new, but for its storage: its bytes are zeros, as many as they were.
  package mutating func forget() {
    bytes.wipe()
    if !fields.isEmpty { fields.removeAll(keepingCapacity: fields.capacity <= mostFieldsKept) }
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
  }
}

/// The head of a response: checked; its framing depends on the request (`bodyLength(answering:)`).
package struct ResponseHead: Sendable {
  /// The head as it came, or as it was repaired. All ranges point in here.
  package var bytes: [UInt8] = []
  /// 100...999.
  package var status = 0
  package var reason = 0..<0
  package var version = Version.http11
  package var fields: [Field] = []
  /// The length by Content-Length and Transfer-Encoding, before the request's method and the status are considered.
  package var declaredLength = BodyLength.untilClose
  /// Whether the connection may serve another request after this response (RFC 9112 §9.3). Never where the close of
  /// the connection ends the body, and never where a body is declared that cannot come.
  package var isKeepAlive = true
  /// Connection names something besides `close` and `keep-alive`.
  package var hasConnectionOptions = false
  /// The repairs that made `bytes` of the bytes that came. Empty if the head came clean.
  package var repairs = HeadRepairs.none

  package init() {}

  /// As new, but for its storage: its bytes are zeros, as many as they were.
  package mutating func forget() {
    bytes.wipe()
    if !fields.isEmpty { fields.removeAll(keepingCapacity: fields.capacity <= mostFieldsKept) }
    repairs = .none
    status = 0
    reason = 0..<0
    version = .http11
    declaredLength = .untilClose
    isKeepAlive = true
    hasConnectionOptions = false
  }

  /// The body that follows this head (RFC 9112 §6.3): none after HEAD, 1xx, 204 and 304.
  package func bodyLength(answering method: Method) -> BodyLength {
    if method == .head || status < 200 || status == 204 || status == 304 { return .none }
    return declaredLength
  }

  /// Whether both sides agree where this response ends, whatever the request's method was. A 204 that declares a body
  /// may be followed by one (RFC 9112 §6.3 says that there is none): what came next could not be trusted. Of a HEAD
  /// response without length it is not known here that it has no body.
  var hasClearEnd: Bool {
    switch declaredLength {
    case .untilClose: status < 200 || status == 204 || status == 304
    case .chunked: status != 204
    case .length(let length): status != 204 || length == 0
    case .none: true
    }
  }
}

/// Request methods that something here depends on; the bytes of `other` stand in the head.
public enum Method: UInt8, Sendable, CaseIterable {
  case get, head, post, put, delete, patch, options, trace, connect, other

  /// Safe to send again when nothing of a response came (RFC 9110 §9.2.2). Unknown methods are not.
  public var isIdempotent: Bool {
    switch self {
    case .get, .head, .put, .delete, .options, .trace: true
    case .post, .patch, .connect, .other: false
    }
  }
}

/// More is not kept for the next head.
private let mostFieldsKept = 32
