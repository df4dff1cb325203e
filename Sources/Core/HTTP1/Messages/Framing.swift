/// Parses the fields about the host, the body length, and whether the connection stays open (RFC 9112 §6).
struct Framing: Sendable {
  private(set) var host: Range<Int>?
  private(set) var expectsContinue = false
  private(set) var hasAuthorization = false
  private var contentLength: UInt64?
  private var isChunked = false
  /// Whether the `Connection` field lists an option other than `close` and `keep-alive`.
  private(set) var hasOptions = false
  private var optionCount = 0
  private var closes = false
  private var keepsAlive = false

  var declaredLength: BodyLength? {
    if isChunked { return .chunked }
    return contentLength.map { .length($0) }
  }

  /// Whether the connection stays open after this message (RFC 9112 §9.3).
  func isKeepAlive(_ version: Version) -> Bool {
    !closes && (version == .http11 || keepsAlive)
  }

  @inline(__always)
  mutating func readRequestField(_ field: Field, of bytes: Span<UInt8>, _ version: Version) throws(MessageError) {
    switch field.known {
    case .host: try readHost(field.value, of: bytes)
    case .expect: try readExpectation(field.value, of: bytes, version)
    case .contentLength: try readContentLength(field.value, of: bytes)
    case .transferEncoding: try readTransferEncoding(field.value, of: bytes, version)
    case .connection: try readConnection(field.value, of: bytes)
    case .authorization: hasAuthorization = true
    case .other, .te, .trailer, .upgrade, .keepAlive, .proxyConnection, .via, .maxForwards, .proxyAuthorization,
      .wwwAuthenticate, .proxyAuthenticate, .authenticationInfo, .proxyAuthenticationInfo, .cookie, .setCookie, .origin,
      .referer, .secFetchSite, .secFetchMode, .location, .contentLocation, .link, .refresh,
      .destination, .if, .accept, .acceptEncoding, .contentType, .userAgent, .date, .server:
      break
    }
  }

  @inline(__always)
  mutating func readResponseField(_ field: Field, of bytes: Span<UInt8>, _ version: Version) throws(MessageError) {
    switch field.known {
    case .contentLength: try readContentLength(field.value, of: bytes)
    case .transferEncoding: try readTransferEncoding(field.value, of: bytes, version)
    case .connection: try readConnection(field.value, of: bytes)
    case .other, .host, .te, .trailer, .upgrade, .keepAlive, .proxyConnection, .expect, .via, .maxForwards,
      .authorization, .proxyAuthorization, .wwwAuthenticate, .proxyAuthenticate, .authenticationInfo,
      .proxyAuthenticationInfo, .cookie, .setCookie, .origin, .referer, .secFetchSite, .secFetchMode, .location,
      .contentLocation, .link, .refresh, .destination, .if, .accept, .acceptEncoding, .contentType, .userAgent, .date,
      .server:
      break
    }
  }

  private mutating func readHost(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) {
    guard host == nil else { throw MessageError(.duplicateHost) }
    guard Authority.isValid(bytes.extracting(value)) else { throw MessageError(.badHost) }
    host = value
  }

  /// Parses an `Expect` field (RFC 9110 §10.1.1), and refuses values other than `100-continue`.
  private mutating func readExpectation(
    _ value: Range<Int>, of bytes: Span<UInt8>, _ version: Version
  ) throws(MessageError) {
    guard !expectsContinue, FieldName.matches(value, of: bytes, "100-continue") else {
      throw MessageError(.unknownExpectation)
    }
    // HTTP/1.0 clients cannot wait for a 100 response.
    expectsContinue = version == .http11
  }

  /// Parses a Content-Length field (RFC 9110 §8.6), and refuses a second field.
  private mutating func readContentLength(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) {
    guard contentLength == nil else { throw MessageError(.duplicateContentLength) }
    guard !isChunked else { throw MessageError(.lengthWithTransferEncoding) }
    contentLength = try Self.length(value, of: bytes)
  }

  /// Parses a Content-Length value, and refuses a list of numbers.
  private static func length(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) -> UInt64 {
    do throws(MessageError) {
      return try number(value, of: bytes)
    } catch {
      var (start, count) = (value.lowerBound, 0)
      for index in value.lowerBound...value.upperBound where index == value.upperBound || bytes[index] == Byte.comma {
        _ = try number(Grammar.trimmed(start..<index, bytes), of: bytes)
        (start, count) = (index &+ 1, count &+ 1)
      }
      throw count > 1 ? MessageError(.duplicateContentLength) : error
    }
  }

  /// Parses a decimal number, and throws `badContentLength` for other text or a too large number.
  static func number(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) -> UInt64 {
    guard !value.isEmpty else { throw MessageError(.badContentLength) }
    var length: UInt64 = 0
    for index in value {
      let digit = UInt64(bytes[index] &- Byte.zero)
      guard digit < 10, length <= (Self.greatestLength &- digit) / 10 else { throw MessageError(.badContentLength) }
      length = length &* 10 &+ digit
    }
    return length
  }

  /// Parses a Transfer-Encoding field, and refuses codings other than a single `chunked` (RFC 9112 §6.1).
  private mutating func readTransferEncoding(
    _ value: Range<Int>, of bytes: Span<UInt8>, _ version: Version
  ) throws(MessageError) {
    guard version == .http11 else { throw MessageError(.transferEncodingInHTTP10) }
    guard contentLength == nil else { throw MessageError(.lengthWithTransferEncoding) }
    if isChunked {
      let isRepeated =
        FieldName.matches(value, of: bytes, "chunked")
        || Self.codingError(bytes.extracting(value)).reason == .duplicateTransferEncoding
      throw MessageError(isRepeated ? .duplicateTransferEncoding : .badTransferEncoding)
    }
    guard FieldName.matches(value, of: bytes, "chunked") else { throw Self.codingError(bytes.extracting(value)) }
    isChunked = true
  }

  private mutating func readConnection(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) {
    // Nearly all fields have only one option, and need no list parsing.
    if readOption(value, of: bytes) { return }
    var elements = ListElements(value)
    while let element = elements.next(in: bytes) {
      optionCount &+= 1
      guard optionCount <= Self.maximumOptions else { throw MessageError(.tooManyOptions) }
      if !readOption(element, of: bytes) { hasOptions = true }
    }
  }

  private mutating func readOption(_ option: Range<Int>, of bytes: Span<UInt8>) -> Bool {
    switch option.count {
    case 5 where FieldName.matches(option, of: bytes, "close"): closes = true
    case 10 where FieldName.matches(option, of: bytes, "keep-alive"): keepsAlive = true
    default: return false
    }
    return true
  }

  /// Returns the error for a Transfer-Encoding value other than a single `chunked`.
  static func codingError(_ value: Span<UInt8>) -> MessageError {
    var (start, count, chunkedCount) = (0, 0, 0)
    var isMisplaced = false
    for index in 0...value.count where index == value.count || value[index] == Byte.comma {
      let coding = Grammar.trimmed(start..<index, value)
      if coding.isEmpty || !coding.allSatisfy({ Grammar.isToken(value[$0]) }) {
        return MessageError(.badTransferEncoding)
      }
      count &+= 1
      if FieldName.matches(coding, of: value, "chunked") {
        chunkedCount &+= 1
        if index < value.count { isMisplaced = true }
      }
      start = index &+ 1
    }
    if chunkedCount == count, count > 1 { return MessageError(.duplicateTransferEncoding) }
    return MessageError(isMisplaced ? .badTransferEncoding : .unknownTransferCoding)
  }

  /// Maximum number of options in all `Connection` fields (T60).
  private static var maximumOptions: Int { 32 }
  /// Maximum length of a body in bytes.
  private static var greatestLength: UInt64 { UInt64(Int64.max) }
}
