internal import HTTP1
internal import Policy

/// The options in the Connection field of one head (RFC 9110 §7.6.1).
struct ConnectionOptions {
  /// Ranges of the options within the head's bytes, without `close` and `keep-alive`.
  private(set) var nominated: [Range<Int>] = []
  /// Whether an option names a field that must not be removed (T15).
  private(set) var nominatesReservedField = false

  init() {}

  /// Reads the options of a head, and replaces the options of the previous head.
  /// - Parameter isNeeded: `false` if the head has no options except `close` and `keep-alive`.
  mutating func read(_ fields: [Field], of bytes: [UInt8], isNeeded: Bool) {
    if !nominated.isEmpty { nominated.removeAll(keepingCapacity: true) }
    nominatesReservedField = false
    guard isNeeded else { return }
    for field in fields where field.known == .connection {
      var elements = ListElements(field.value)
      while let token = elements.next(in: bytes.span) { note(token, of: bytes) }
    }
  }

  /// Whether an option names the field whose name is at the range `name` of `bytes`.
  /// - Parameter head: the bytes of the head that `read` was called with.
  func names(_ name: Range<Int>, of bytes: [UInt8], nominatedIn head: [UInt8]) -> Bool {
    for nomination in nominated where FieldName.resembles(nomination, of: head.span, name, of: bytes.span) {
      return true
    }
    return false
  }

  private mutating func note(_ token: Range<Int>, of bytes: [UInt8]) {
    let span = bytes.span
    if FieldName.matches(token, of: span, "close") || FieldName.matches(token, of: span, "keep-alive") { return }
    for reserved in ConnectionOptions.reserved where FieldName.resembles(token, of: span, reserved) {
      nominatesReservedField = true
    }
    if CredentialFields.isCredentialLike(name: bytes, range: token) { nominatesReservedField = true }
    nominated.append(token)
  }

  private static let reserved = [
    "host", "content-length", "transfer-encoding", "authorization", "cookie", "set-cookie", "expect", "content-type",
    "content-encoding", "content-range", "range", "date", "location", "www-authenticate", "cache-control",
  ]
}

extension RequestForwarding {
  /// Whether a TE field lists `trailers` (RFC 9110 §10.1.4).
  func listsTrailers(_ field: Field, of bytes: [UInt8]) -> Bool {
    var elements = ListElements(field.value)
    while let token = elements.next(in: bytes.span) {
      if FieldName.matches(token, of: bytes.span, "trailers") { return true }
    }
    return false
  }
}
