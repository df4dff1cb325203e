/// An absolute http or https URL of the configuration, taken apart at RFC 3986's delimiters and at nothing else.
struct URLParts {
  let origin: Origin
  /// As written, from its first slash; empty when there is none.
  let path: [UInt8]

  /// Refuses userinfo, query, fragment, backslash, blanks and control characters.
  init(_ text: String, example: String) throws(OriginError) {
    let bytes = Array(text.utf8)
    if bytes.contains(where: { ByteClass.isControl($0) || $0 == 0x20 }) {
      throw OriginError("the URL \(quoted(text)) has a space or a control character")
    }
    if bytes.contains(UInt8(ascii: "\\")) { throw OriginError("the URL \(quoted(text)) has a backslash") }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: Array("://".utf8)) else {
      throw OriginError("\(quoted(text)) is not a URL: expected one like \(example)")
    }
    let name = String(decoding: bytes[..<colon], as: UTF8.self)
    guard let scheme = Origin.Scheme(rawValue: name.lowercased()) else {
      throw OriginError("the scheme \(quoted(name)) of \(quoted(text)) is not allowed: expected https")
    }
    if bytes.contains(UInt8(ascii: "#")) {
      throw OriginError("the URL \(quoted(text)) has a fragment (#…), which is not allowed here")
    }
    if bytes.contains(UInt8(ascii: "?")) {
      throw OriginError("the URL \(quoted(text)) has a query (?…), which is not allowed here")
    }
    let rest = bytes[(colon + 3)...]
    let authority = rest.prefix { $0 != UInt8(ascii: "/") }
    path = Array(rest.dropFirst(authority.count))
    if authority.contains(UInt8(ascii: "@")) {
      // Not echoed: what stands there may be a password.
      throw OriginError("the URL has a user name or password, which is not allowed here: add them under credentials")
    }
    let (host, digits) = Self.split(authority)
    let port = try digits.map { (digits) throws(OriginError) in try Self.port(digits, text) } ?? scheme.defaultPort
    origin = Origin(
      scheme: scheme, host: try HostName(parsing: String(decoding: host, as: UTF8.self)), port: port)
  }

  /// Host and, after a colon outside of brackets, the port's digits.
  private static func split(_ authority: ArraySlice<UInt8>) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
    let close = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    guard let colon = authority[close...].firstIndex(of: UInt8(ascii: ":")) else { return (authority, nil) }
    // 2001:db8::1 without brackets: left to HostName, which says so
    if close == authority.startIndex, authority[(colon + 1)...].contains(UInt8(ascii: ":")) { return (authority, nil) }
    return (authority[..<colon], authority[(colon + 1)...])
  }

  private static func port(_ digits: ArraySlice<UInt8>, _ text: String) throws(OriginError) -> UInt16 {
    let written = String(decoding: digits, as: UTF8.self)
    guard let port = UInt16(written), port > 0, String(port) == written else {
      throw OriginError("the port \(quoted(written)) in \(quoted(text)) is not a number from 1 to 65535")
    }
    return port
  }
}
