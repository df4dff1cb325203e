internal import HTTP1

/// A field that nghttp2 has refused, as a rule of RFC 9113.
enum RefusedField {
  /// The name is malformed (section 8.2.1), or not known.
  case name
  case value
  /// The field is, or looks like, a pseudo-header field (section 8.3).
  case pseudoHeader
  /// The field concerns an HTTP/1.1 connection (section 8.2.2).
  case connection
  case contentLength
  case host

  /// - Parameter message: what nghttp2 says about the field. Has the name of the field, and its value. Other versions of nghttp2
  ///   may use other words. Then the result is `name`.
  init(_ message: UnsafeRawBufferPointer) {
    self = .name
    guard let name = Self.name(in: message) else { return }
    switch name.count {
    case _ where name.first == UInt8(ascii: ":"): self = .pseudoHeader
    case 2 where name.elementsEqual("te".utf8): self = .connection
    case 4 where name.elementsEqual("host".utf8): self = .host
    case 14 where name.elementsEqual("content-length".utf8): self = .contentLength
    case 7 where name.elementsEqual("upgrade".utf8), 10 where name.elementsEqual("connection".utf8),
      10 where name.elementsEqual("keep-alive".utf8), 16 where name.elementsEqual("proxy-connection".utf8),
      17 where name.elementsEqual("transfer-encoding".utf8):
      self = .connection
    case 1...: if name.allSatisfy({ HeaderBlock.isAllowedInName($0) }) { self = .value }
    default: break
    }
  }

  /// Finds the name in `name: [NAME], value: [VALUE]`.
  private static func name(in message: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
    let (mark, end) = ("name: [".utf8, "], value: [".utf8)
    // The words before the name are short.
    guard let start = message.indices.prefix(128).first(where: { message[$0...].starts(with: mark) }) else {
      return nil
    }
    let rest = message[(start + mark.count)...]
    return rest.indices.first { rest[$0...].starts(with: end) }.map { rest[..<$0] }
  }

  var reason: MessageError.Reason {
    switch self {
    case .name: .badFieldName
    case .value: .badFieldValue
    case .pseudoHeader: .badPseudoHeader
    case .connection: .connectionField
    case .contentLength: .badContentLength
    case .host: .badHost
    }
  }
}
