package import Primitives

/// The head of a request to an upstream, without its credential. The encoder of an HTTP version adds the syntax.
///
/// An output buffer, like `ByteBuffer`: filled for one request, then emptied and filled again. Emptying it keeps its
/// memory.
package struct OutgoingRequest: Sendable {
  /// The method, one space and the target. Append the target after `begin`.
  package var line = ByteBuffer()
  /// Number of bytes of the method.
  private var methodCount = 0
  /// The upstream's host and port. The array is shared with other requests.
  package internal(set) var authority: [UInt8] = []
  /// The fields to send, each as a line `name: value` with CRLF. Contains no fields about the connection or the framing,
  /// no `Host`, and no credential.
  package var fields = ByteBuffer()
  /// The client's cookies to send in one field with the credential's cookie, as in `a=1; b=2`. Empty if there are none.
  package var cookie = ByteBuffer()
  /// The length of the body. The encoder writes the framing.
  package var bodyLength = BodyLength.none
  /// The protocol to switch to, such as `websocket`. `nil` if the request asks for no switch.
  package var upgrade: String?
  /// Whether the client accepts trailers in the response.
  package var acceptsTrailers = false
  /// Whether the connection is closed after this request.
  package var isLast = false

  package init() {}

  /// Begins a request in an empty buffer.
  /// - Parameter authority: the upstream's host and port, as in `Host`.
  package mutating func begin(method: Span<UInt8>, authority: [UInt8]) {
    line.append(method)
    methodCount = method.count
    line.append(UInt8(ascii: " "))
    self.authority = authority
  }

  package mutating func removeAll() {
    // Nearly all events of a connection send no request.
    if line.isEmpty, fields.isEmpty, cookie.isEmpty { return }
    line.removeAll()
    methodCount = 0
    authority = []
    fields.removeAll()
    cookie.removeAll()
    bodyLength = .none
    upgrade = nil
    acceptsTrailers = false
    isLast = false
  }

  // MARK: the request line

  /// The range of the method in `line`.
  package var method: Range<Int> { 0..<methodCount }

  /// The range of the target in `line`.
  package var target: Range<Int> { Swift.min(methodCount &+ 1, line.count)..<line.count }

  /// Whether the target is a path, and not `*`.
  package var hasPath: Bool {
    let target = target
    return !target.isEmpty && line.storage[target.lowerBound] == UInt8(ascii: "/")
  }

  /// The text between the target and an added query parameter. Empty if the target ends with `?` or `&`.
  package var parameterSeparator: String {
    let last = line.contents.last
    if !line.contents[target].contains(UInt8(ascii: "?")) { return "?" }
    return last == UInt8(ascii: "?") || last == UInt8(ascii: "&") ? "" : "&"
  }

  // MARK: the fields

  /// Whether the request line is complete, and a field can be added after `fields`.
  package var isComplete: Bool {
    let end = fields.count
    guard methodCount > 0, !target.isEmpty else { return false }
    if end == 0 { return true }
    let bytes = fields.storage.span
    guard end >= 4, bytes[0] != 0x0D, bytes[end &- 2] == 0x0D, bytes[end &- 1] == 0x0A else { return false }
    // After an empty line, a server would read the next field as part of the body.
    return bytes[end &- 4] != 0x0D || bytes[end &- 3] != 0x0A
  }
}

/// Iterates over field lines of the form `name: value` with CRLF, as in `OutgoingRequest.fields`.
package struct FieldPairs {
  package struct Pair: Equatable {
    package let name: Range<Int>
    package let value: Range<Int>
  }

  /// Index of the first byte that was not read yet. Less than the number of bytes at the end if a line is malformed.
  package private(set) var position = 0

  package init() {}

  /// Returns the ranges of the next field in `lines`. `nil` at the end, and before a malformed line.
  package mutating func next(in lines: Span<UInt8>) -> Pair? {
    var colon = position
    while colon < lines.count, lines[colon] != UInt8(ascii: ":") {
      if lines[colon] == 0x0D || lines[colon] == 0x0A { return nil }
      colon &+= 1
    }
    guard colon > position, colon &+ 1 < lines.count, lines[colon &+ 1] == UInt8(ascii: " ") else { return nil }
    let start = colon &+ 2
    let end = Scanning.endOfValue(lines, from: start)
    guard end &+ 1 < lines.count, lines[end] == 0x0D, lines[end &+ 1] == 0x0A else { return nil }
    defer { position = end &+ 2 }
    return Pair(name: position..<colon, value: start..<end)
  }
}
