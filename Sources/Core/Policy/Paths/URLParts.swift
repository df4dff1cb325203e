/// An absolute http or https URL of the configuration, taken apart at RFC 3986's delimiters and at nothing else.
struct URLParts {
  let origin: Origin
  /// As written, from its first slash; empty when there is none.
  let path: [UInt8]

  /// Refuses userinfo, query, fragment, backslash, blanks and control characters.
  init(_ text: String, example: String) throws(OriginError) {
    let bytes = Array(text.utf8)
    if bytes.contains(where: { ByteClass.isControl($0) || $0 == 0x20 }) {
      throw OriginError("a URL must not have spaces or control characters, got \(quoted(text))")
    }
    if bytes.contains(UInt8(ascii: "\\")) { throw OriginError("a URL must not have a backslash, got \(quoted(text))") }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: Array("://".utf8)) else {
      throw OriginError("expected a URL such as \(example), got \(quoted(text))")
    }
    let name = String(decoding: bytes[..<colon], as: UTF8.self)
    guard let scheme = Origin.Scheme(rawValue: name.lowercased()) else {
      throw OriginError("expected the scheme https, got \(quoted(name)) in \(quoted(text))")
    }
    if bytes.contains(UInt8(ascii: "#")) { throw OriginError("a fragment is not allowed here, got \(quoted(text))") }
    if bytes.contains(UInt8(ascii: "?")) { throw OriginError("a query is not allowed here, got \(quoted(text))") }
    let rest = bytes[(colon + 3)...]
    let authority = rest.prefix { $0 != UInt8(ascii: "/") }
    path = Array(rest.dropFirst(authority.count))
    if authority.contains(UInt8(ascii: "@")) {
      // Not echoed: what stands there may be a password.
      throw OriginError("a URL must not have a user name or password here: add them under credentials")
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
      throw OriginError("expected a port from 1 to 65535, got \(quoted(written)) in \(quoted(text))")
    }
    return port
  }
}
