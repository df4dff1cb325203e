internal import Primitives

/// Parses and stores the trailer section of a chunked body (RFC 9112 §7.1.2).
struct TrailerSection: Sendable {
  private(set) var trailers = Trailers()
  private var lines = FieldLines(at: 0)
  private let names = KnownNames.all
  private let limits: HeadLimits
  private var lineCount = 0

  /// - Parameter length: how many bytes to reserve, if the length of the section is known.
  init(limits: HeadLimits, length: Int = 0) {
    self.limits = limits
    if length > 0 { trailers.bytes.reserveCapacity(length) }
  }

  /// Parses the input from `position` on. Returns `true` at the end of the section.
  mutating func next(_ input: Span<UInt8>, _ position: inout Int) throws(MessageError) -> Bool {
    while position < input.count {
      // Reads line by line, so that no byte after the section is consumed.
      var end = position
      let furthest = position &+ Swift.min(input.count &- position, limits.headBytes &- trailers.bytes.count)
      guard end < furthest else { throw MessageError(.trailersTooLarge) }
      while end < furthest, input[end] != Byte.lineFeed { end &+= 1 }
      if end < furthest { end &+= 1 }
      trailers.bytes.append(input.extracting(position..<end))
      position = end
      if try readLines() { return true }
    }
    return false
  }

  private mutating func readLines() throws(MessageError) -> Bool {
    var lines = self.lines
    while true {
      switch try lines.next(trailers.bytes.span, names) {
      case .needsMore:
        self.lines = lines
        return false
      case .end: return true
      case .field(let field):
        guard lineCount < limits.fields else { throw MessageError(.trailersTooLarge) }
        lineCount &+= 1
        if Self.isAllowed(field, of: trailers.bytes.span) {
          trailers.fields.append(field)
        } else {
          trailers.hasDropped = true
        }
      }
    }
  }

  /// Whether trailers may contain fields with this or a similar name (RFC 9110 §6.5.1) (T14).
  private static func isAllowed(_ field: Field, of bytes: Span<UInt8>) -> Bool {
    let name = field.name
    if name.count < namesByLength.count {
      for other in namesByLength[name.count] where FieldName.resembles(name, of: bytes, other.indices, of: other.span) {
        return false
      }
    }
    for prefix in forbiddenPrefixes where FieldName.resembles(name, of: bytes, prefix: prefix) { return false }
    return true
  }

  /// The fields that trailers may not contain. The index is the length of the name.
  private static let namesByLength: [[[UInt8]]] = {
    let names = KnownField.allCases.filter { $0 != .other && $0 != .link }.map(\.name) + forbiddenNames
    var table = [[[UInt8]]](repeating: [], count: 1 + (names.map(\.utf8.count).max() ?? 0))
    for name in names { table[name.utf8.count].append(Array(name.utf8)) }
    return table
  }()

  private static var forbiddenNames: [String] {
    [
      "age", "api-key", "cache-control", "content-encoding", "content-language", "content-range",
      "cookie2", "date", "expires", "forwarded", "if-match", "if-modified-since", "if-none-match", "if-range",
      "if-unmodified-since", "pragma", "private-token", "range", "retry-after", "set-cookie2", "sudo", "vary",
      "warning",
      "x-api-key", "x-auth-token", "x-http-method", "x-http-method-override", "x-method-override", "x-original-url",
      "x-real-ip", "x-rewrite-url",
    ]
  }

  private static let forbiddenPrefixes = [
    "access-control-", "impersonate-", "proxy-", "sec-", "x-forwarded-", "x-impersonate-",
  ]
}
