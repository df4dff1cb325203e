/// One place of one server that is asked for tokens: nothing is taken from an answer or a request to make one (T38).
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// https.
  package let origin: Origin
  /// Origin-form (RFC 9112 section 3.2.1), as configured: begins with `/`, visible ASCII, no query.
  package let target: [UInt8]

  /// `https://login.example.com/oauth2/token`. Another scheme, userinfo, a query, a fragment or a dot segment is an error.
  package init(parsing text: String) throws(OriginError) {
    let parts = try URLParts(text, example: "https://login.example.com/oauth2/token")
    guard parts.origin.scheme == .https else {
      throw OriginError("\(quoted(text)) is not an https URL: credentials are sent over https only")
    }
    var canonical = CanonicalTarget()
    do throws(PolicyRefusal) {
      if PathReading.hasDotSegment(parts.path) { throw .dotSegment }
      try canonical.read(parts.path.span)
      if !ByteClass.isWrittenAsSent(parts.path) { throw .forbiddenCharacter }
    } catch {
      throw OriginError(
        "the path of \(quoted(text)) has a . or .. segment, an invalid escape, or a character that RFC 3986 does not allow"
      )
    }
    origin = parts.origin
    target = parts.path.isEmpty ? [UInt8(ascii: "/")] : parts.path
  }

  /// The URL, with the port only where it is not 443.
  package var description: String { "\(origin)\(String(decoding: target, as: UTF8.self))" }
}
