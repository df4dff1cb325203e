/// The bytes with which an HTTP/2 connection begins (RFC 9113 section 3.4).
enum HTTP2Preface {
  private static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// Whether the first bytes of a connection contain the whole preface. `nil` if they cannot be its beginning.
  static func isWhole(in input: Span<UInt8>) -> Bool? {
    let preface = bytes.span
    let count = min(input.count, preface.count)
    var index = 0
    while index < count {
      if input[index] != preface[index] { return nil }
      index &+= 1
    }
    return count == preface.count
  }
}
