/// The URL of a server to which bearerd sends requests of its own: token requests, logins (T38) or reports.
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// Always https.
  package let origin: Origin
  /// The path and the query as configured (RFC 9112 section 3.2.1). Begins with `/`.
  package let target: [UInt8]

  /// Parses a URL like `https://login.example.com/oauth2/token`. Throws for another scheme, userinfo, a query, a
  /// fragment or a `..` segment.
  package init(parsing text: String) throws(PolicySyntaxError) {
    let parts = try URLParts(text, example: "https://login.example.com/oauth2/token")
    guard parts.origin.scheme == .https else {
      throw PolicySyntaxError("\(quoted(text)) is not an https URL: only https is allowed here")
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

  /// The maximum length of a query, in bytes.
  private static let longestQuery = 2048

  /// Parses a URL that may have a query, which requests retain (RFC 6749 sections 3.1 and 3.2). Errors never contain the
  /// query.
  package init(parsingWithQuery text: String) throws(PolicySyntaxError) {
    let bytes = Array(text.utf8)
    let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    let base = try Endpoint(parsing: String(decoding: bytes[..<mark], as: UTF8.self))
    let query = bytes[mark...]
    guard query.count <= Self.longestQuery else {
      throw PolicySyntaxError("the query of the URL is too long: at most \(Self.longestQuery) bytes are allowed")
    }
    guard query.allSatisfy(ByteClass.isQueryCharacter) else {
      throw PolicySyntaxError("the query of the URL has a character that RFC 3986 does not allow: percent-encode it")
    }
    origin = base.origin
    target = base.target + query
  }

  /// The query without `?`; `nil` if there is none.
  package var query: ArraySlice<UInt8>? {
    target.firstIndex(of: UInt8(ascii: "?")).map { target[($0 + 1)...] }
  }

  /// The names of the query's parameters, as written.
  package var parameterNames: [String] {
    (query ?? []).split(separator: UInt8(ascii: "&")).map { parameter in
      String(decoding: parameter.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }
  }

  package var description: String { "\(origin)\(String(decoding: target, as: UTF8.self))" }
}
