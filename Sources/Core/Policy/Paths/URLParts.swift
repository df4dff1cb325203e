/// The origin and path of an absolute http or https URL in the configuration.
struct URLParts {
  let origin: Origin
  /// The path as written, from the first slash on. Empty if the URL has no path.
  let path: [UInt8]

  /// Parses the URL, and throws if it has more than scheme, host, port and path.
  /// - Parameter example: A valid URL for the error message.
  init(_ text: String, example: String) throws(PolicySyntaxError) {
    let bytes = Array(text.utf8)
    if bytes.contains(where: { ByteClass.isControl($0) || $0 == 0x20 }) {
      throw PolicySyntaxError("the URL \(quoted(text)) has a space or a control character")
    }
    if bytes.contains(UInt8(ascii: "\\")) { throw PolicySyntaxError("the URL \(quoted(text)) has a backslash") }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: Array("://".utf8)) else {
      throw PolicySyntaxError("\(quoted(text)) is not a URL: expected one like \(example)")
    }
    let name = String(decoding: bytes[..<colon], as: UTF8.self)
    guard let scheme = Origin.Scheme(rawValue: name.lowercased()) else {
      throw PolicySyntaxError("the scheme \(quoted(name)) of \(quoted(text)) is not allowed: expected https")
    }
    if bytes.contains(UInt8(ascii: "#")) {
      throw PolicySyntaxError("the URL \(quoted(text)) has a fragment (#…), which is not allowed here")
    }
    if bytes.contains(UInt8(ascii: "?")) {
      throw PolicySyntaxError("the URL \(quoted(text)) has a query (?…), which is not allowed here")
    }
    let rest = bytes[(colon + 3)...]
    let authority = rest.prefix { $0 != UInt8(ascii: "/") }
    path = Array(rest.dropFirst(authority.count))
    if authority.contains(UInt8(ascii: "@")) {
      // Do not quote the URL, which may contain a password.
      throw PolicySyntaxError(
        "the URL has a user name or password, which is not allowed here: add them under credentials")
    }
    let (host, digits) = Self.split(authority)
    let port =
      if let digits { try Self.port(String(decoding: digits, as: UTF8.self), of: text) } else { scheme.defaultPort }
    origin = Origin(
      scheme: scheme, host: try HostName(parsing: String(decoding: host, as: UTF8.self)), port: port)
  }

  private static func split(_ authority: ArraySlice<UInt8>) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
    let close = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    guard let colon = authority[close...].firstIndex(of: UInt8(ascii: ":")) else { return (authority, nil) }
    // `HostName` throws the right error for 2001:db8::1 without brackets.
    if close == authority.startIndex, authority[(colon + 1)...].contains(UInt8(ascii: ":")) { return (authority, nil) }
    return (authority[..<colon], authority[(colon + 1)...])
  }

  /// Parses a port. `text` is the whole URL, for the error message.
  static func port(_ digits: String, of text: String) throws(PolicySyntaxError) -> UInt16 {
    guard let port = UInt16(digits), port > 0, String(port) == digits else {
      throw PolicySyntaxError("the port \(quoted(digits)) in \(quoted(text)) is not a number from 1 to 65535")
    }
    return port
  }
}
