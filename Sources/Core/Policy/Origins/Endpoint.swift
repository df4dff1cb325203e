/// The URL of a token endpoint. bearerd sends token requests only to configured endpoints (T38).
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// Always https.
  package let origin: Origin
  /// The path as configured (RFC 9112 section 3.2.1): begins with `/`, and has no query.
  package let target: [UInt8]

  /// Parses a URL like `https://login.example.com/oauth2/token`. Throws for another scheme, userinfo, a query, a
  /// fragment or a `..` segment.
  package init(parsing text: String) throws(PolicySyntaxError) {
    let parts = try URLParts(text, example: "https://login.example.com/oauth2/token")
    guard parts.origin.scheme == .https else {
      throw PolicySyntaxError("\(quoted(text)) is not an https URL: credentials are sent over https only")
    }
    var canonical = CanonicalTarget()
    do throws(PolicyRefusal) {
      if PathReading.hasDotSegment(parts.path) { throw .dotSegment }
      try canonical.read(parts.path.span)
      if !ByteClass.isWrittenAsSent(parts.path) { throw .forbiddenCharacter }
    } catch {
      throw PolicySyntaxError(
        "the path of \(quoted(text)) has a . or .. segment, an invalid escape, or a character that RFC 3986 does not allow"
      )
    }
    origin = parts.origin
    target = parts.path.isEmpty ? [UInt8(ascii: "/")] : parts.path
  }

  package var description: String { "\(origin)\(String(decoding: target, as: UTF8.self))" }
}
