internal import Policy

/// Normalizes a URI reference as browsers do (WHATWG URL standard, "basic URL parser"), and percent-escapes all bytes
/// that are not allowed in a URI (RFC 3986 section 2).
enum CleanReference {
  /// Returns the normalized reference.
  /// - Parameter scheme: the scheme of the URL against which the reference is resolved.
  static func bytes(of text: [UInt8], scheme: Origin.Scheme) -> [UInt8] {
    normalized(text.contains(where: isOdd) ? escaped(text) : text, scheme)
  }

  /// Trims whitespace, removes tabs, and percent-escapes bytes that are not allowed.
  private static func escaped(_ text: [UInt8]) -> [UInt8] {
    var rest = text[...]
    while let first = rest.first, first <= 0x20 { rest = rest.dropFirst() }
    while let last = rest.last, last <= 0x20 { rest = rest.dropLast() }
    let visible = rest.filter { $0 != 0x09 }
    let web = Reference.webScheme(of: visible)
    let isWeb = web != nil || !Reference.hasScheme(visible)
    let endOfPath = Reference.endOfPath(visible)
    var result: [UInt8] = []
    result.reserveCapacity(visible.count &+ 32)
    let host = isWeb ? authority(of: visible, after: web?.end, upTo: endOfPath) : 0..<0
    for (index, byte) in visible.enumerated() {
      if byte == UInt8(ascii: "\\"), isWeb, index < endOfPath {
        result.append(UInt8(ascii: "/"))
      } else if isWeb ? isOdd(byte) && (byte < 0x80 || !host.contains(index)) : isOddAnywhere(byte) {
        EscapedByte.write(byte, to: &result)
      } else {
        result.append(byte)
      }
    }
    return result
  }

  /// Returns the range of the authority. Empty if there is none.
  private static func authority(of text: [UInt8], after scheme: Int?, upTo endOfPath: Int) -> Range<Int> {
    var start = scheme ?? 0
    if scheme == nil, text.count < 2 || !isSlash(text[0]) || !isSlash(text[1]) { return 0..<0 }
    while start < endOfPath, isSlash(text[start]) { start += 1 }
    var end = start
    while end < endOfPath, !isSlash(text[end]) { end += 1 }
    return start..<end
  }

  /// Normalizes schemes and slashes as browsers do.
  private static func normalized(_ text: [UInt8], _ scheme: Origin.Scheme) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    if text.starts(with: "//".utf8) {
      guard text.count > 2, text[2] == slash else { return text }
      return [slash, slash] + text.drop { $0 == slash }
    }
    guard let web = Reference.webScheme(of: text) else { return text }
    let rest = text[web.end...]
    let isAbsolute = rest.starts(with: "//".utf8)
    if isAbsolute, rest.dropFirst(2).first != slash { return text }
    if !isAbsolute, web.scheme == scheme {
      // Without the dot, the text could begin with a scheme of its own.
      let isPath = rest.first.map { $0 != slash && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") } ?? false
      return (isPath ? Array("./".utf8) : []) + rest
    }
    return Array("\(web.scheme.rawValue)://".utf8) + rest.drop { $0 == slash }
  }

  private static func isOdd(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F...0xFF, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      true
    default: false
    }
  }

  /// Whether the byte is escaped in URLs of every scheme.
  private static func isOddAnywhere(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "\\")
  }

  private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
}
