/// The URL that receives reports of failed verifications (RFC 7469 section 2.1.4).
package struct ReportURL: Sendable, Hashable {
  /// Always https.
  package let origin: Origin
  /// The path and the query as configured. Begins with `/`.
  package let target: [UInt8]

  /// Parses a URL like `https://reports.example.net/pins?team=web`. Throws for another scheme, userinfo, a fragment, or
  /// a `..` segment.
  package init(parsing text: String) throws(PolicySyntaxError) {
    let bytes = Array(text.utf8)
    let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    let base = String(decoding: bytes[..<mark], as: UTF8.self)
    let parts = try URLParts(base, example: "https://reports.example.net/pins")
    guard parts.origin.scheme == .https else {
      throw PolicySyntaxError("\(quoted(base)) is not an https URL: reports are sent over https only")
    }
    let endpoint = try Endpoint(parsing: base)
    let query = bytes[mark...]
    guard query.allSatisfy(ByteClass.isQueryCharacter) else {
      throw PolicySyntaxError("the query of the URL has a character that RFC 3986 does not allow: percent-encode it")
    }
    origin = endpoint.origin
    target = endpoint.target + query
  }
}
