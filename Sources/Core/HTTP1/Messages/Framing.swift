/// The word of one head's field lines on its body, its connection and its host, gathered line by line.
/// Anything that two readers could take differently is refused (RFC 9112 §6, §11.2).
struct Framing: Sendable {
  /// The value of the one Host field of a request.
  private(set) var host: Range<Int>?
  private(set) var expectsContinue = false
  private var contentLength: UInt64?
  private var isChunked = false
  /// Connection names something besides `close` and `keep-alive`.
  private(set) var hasOptions = false
  private var optionCount = 0
  private var closes = false
  private var keepsAlive = false

  /// The body that the fields declare; nil when none of them does.
  var declaredLength: BodyLength? {
    if isChunked { return .chunked }
    return contentLength.map { .length($0) }
  }

  /// RFC 9112 §9.3.
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
    case .other, .te, .trailer, .upgrade, .keepAlive, .proxyConnection, .via, .maxForwards, .authorization,
      .proxyAuthorization, .wwwAuthenticate, .proxyAuthenticate, .authenticationInfo, .proxyAuthenticationInfo, .cookie,
      .setCookie, .origin, .referer, .secFetchSite, .secFetchMode, .location, .contentLocation, .link, .refresh,
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

  /// RFC 9110 §10.1.1. An HTTP/1.0 client cannot wait for 100 and its expectation is ignored.
  private mutating func readExpectation(
    _ value: Range<Int>, of bytes: Span<UInt8>, _ version: Version
  ) throws(MessageError) {
    guard !expectsContinue, FieldName.matches(value, of: bytes, "100-continue") else {
      throw MessageError(.unknownExpectation)
    }
    expectsContinue = version == .http11
  }

  /// RFC 9110 §8.6: digits and nothing else, once. Equal duplicates and lists of equal numbers are refused too.
  private mutating func readContentLength(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) {
    guard contentLength == nil else { throw MessageError(.duplicateContentLength) }
    guard !isChunked else { throw MessageError(.lengthWithTransferEncoding) }
    guard !value.isEmpty else { throw MessageError(.badContentLength) }
    var length: UInt64 = 0
    for index in value {
      let digit = UInt64(bytes[index] &- Byte.zero)
      guard digit < 10, length <= (Self.greatestLength &- digit) / 10 else { throw MessageError(.badContentLength) }
      length = length &* 10 &+ digit
    }
    contentLength = length
  }

  /// RFC 9112 §6.1: `chunked` alone is understood.
  private mutating func readTransferEncoding(
    _ value: Range<Int>, of bytes: Span<UInt8>, _ version: Version
  ) throws(MessageError) {
    guard version == .http11 else { throw MessageError(.transferEncodingInHTTP10) }
    guard contentLength == nil else { throw MessageError(.lengthWithTransferEncoding) }
    guard !isChunked else { throw MessageError(.badTransferEncoding) }
    guard FieldName.matches(value, of: bytes, "chunked") else { throw Self.codingError(bytes.extracting(value)) }
    isChunked = true
  }

  private mutating func readConnection(_ value: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) {
    // Nearly all lines say one option alone: no list is taken apart.
    if readOption(value, of: bytes) { return }
    var elements = ListElements(value)
    while let element = elements.next(in: bytes) {
      optionCount &+= 1
      guard optionCount <= Self.mostOptions else { throw MessageError(.tooManyOptions) }
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

  /// A well-formed list of codings that we do not know is 501, unless `chunked` stands in a place where it frames
  /// nothing; that, and all else, is an attempt to be misread.
  private static func codingError(_ value: Span<UInt8>) -> MessageError {
    var start = 0
    for index in 0...value.count where index == value.count || value[index] == Byte.comma {
      var coding = start..<index
      while !coding.isEmpty, Grammar.isBlank(value[coding.lowerBound]) { coding = coding.dropFirst() }
      while !coding.isEmpty, Grammar.isBlank(value[coding.upperBound &- 1]) { coding = coding.dropLast() }
      let isLast = index == value.count
      if coding.isEmpty || !coding.allSatisfy({ Grammar.isToken(value[$0]) })
        || !isLast && FieldName.matches(coding, of: value, "chunked")
      {
        return MessageError(.badTransferEncoding)
      }
      start = index &+ 1
    }
    return MessageError(.unknownTransferCoding)
  }

  /// The most options in all Connection fields of a head. Each is compared with all of its fields, and no program names more
  /// than a few (T60).
  private static var mostOptions: Int { 32 }
  /// Every length fits in an `Int64` and so in the arithmetic of everybody who counts.
  private static var greatestLength: UInt64 { UInt64(Int64.max) }
}
