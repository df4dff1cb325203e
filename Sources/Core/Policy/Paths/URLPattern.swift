/// A glob over the canonical path below a service's base: `*` within a segment, `**` across, `**/` may be empty, `?` one
/// character (an escape is one); anchored.
package struct URLPattern: Sendable, Equatable {
  /// As configured, with one leading slash; or `*`.
  package let text: String
  /// See `Glob`.
  let symbols: [Glob.Symbol]
  /// How many symbols come before the first wildcard.
  let literals: Int
  /// Whether ASCII letters match in either case; `symbols` keeps them as written.
  package private(set) var ignoresCase = false

  /// A pattern that matches ASCII letters in either case.
  var ignoringCase: URLPattern {
    var pattern = self
    pattern.ignoresCase = true
    return pattern
  }

  /// `symbols` as `Glob.matches` wants them.
  var compared: [Glob.Symbol] { ignoresCase ? symbols.map(Glob.lowercased) : symbols }

  /// `*` alone: the target of an OPTIONS for the whole server (RFC 9112 §3.2.4), which has no path. No path fits it.
  package var isAsterisk: Bool { symbols.isEmpty }

  /// Refuses empty text, a scheme or authority, `..` and `.` segments, a query, a fragment, backslash, control bytes, bad
  /// escapes, and characters that cannot stand in a path; canonicalises escapes. The escape of a character that may stand
  /// plain in a path (`%2A`) is that character: a literal star, say.
  package init(parsing text: String) throws(OriginError) {
    if text == "*" {
      (self.text, symbols, literals) = (text, [], 0)
      return
    }
    if let reason = Self.complaint(text) { throw OriginError(reason) }
    let rooted = text.utf8.first == UInt8(ascii: "/") ? text : "/" + text
    let symbols = try Self.compile(Array(rooted.utf8), shown: text)
    self.text = rooted
    self.symbols = symbols
    literals = symbols.firstIndex(where: Glob.isWildcard) ?? symbols.count
    guard symbols.count - literals <= Glob.maximumStates else {
      throw OriginError(
        "a pattern may have at most \(Glob.maximumStates) characters from its first wildcard on, got \(symbols.count - literals)"
      )
    }
    if Self.hasDotSegment(symbols) {
      throw OriginError("a pattern must not have . or .. segments, got \(quoted(text))")
    }
  }

  /// `path` begins with the slash that ends the base. Linear in its length (no backtracking explosion).
  package func matches(_ path: Span<UInt8>) -> Bool {
    Glob.matches(path, pattern: compared.span, literals: literals, ignoringCase: ignoresCase)
  }

  /// Whether it would match without a look past the case of letters.
  package func matchesAsWritten(_ path: Span<UInt8>) -> Bool {
    Glob.matches(path, pattern: symbols.span, literals: literals)
  }

  private static func complaint(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    if bytes.isEmpty { return "expected a pattern such as /repos/**, got nothing" }
    if text.contains("://") || bytes.starts(with: [0x2f, 0x2f]) {
      return "a pattern must be a path below the service's base, without a scheme and host, got \(quoted(text))"
    }
    if bytes.first != UInt8(ascii: "/"), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      !bytes[..<colon].contains(UInt8(ascii: "/"))
    {
      return "a pattern with a colon in its first segment must begin with a slash: expected \(quoted("/" + text))"
    }
    if bytes.contains(UInt8(ascii: "#")) {
      return "a pattern must not have a fragment, which is never sent, got \(quoted(text))"
    }
    if bytes.contains(UInt8(ascii: "\\")) {
      return "a pattern must not have a backslash: write %5C for an escaped one, got \(quoted(text))"
    }
    if bytes.contains(where: ByteClass.isControl) {
      return "a pattern must not have control characters, got \(quoted(text))"
    }
    if looksLikeQuery(bytes) {
      return "a pattern matches only the path, and ? is one character of it, got \(quoted(text))"
    }
    if let corrected = escapingWhatCannotStand(text) {
      let reason = "a pattern may have *, ** and ?, and all other characters as in a URL's path"
      return "\(reason): expected \(quoted(corrected)), got \(quoted(text))"
    }
    return nil
  }

  /// `?name=`: a query is meant.
  private static func looksLikeQuery(_ bytes: [UInt8]) -> Bool {
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return false }
    let name = bytes[(mark + 1)...].prefix { ByteClass.isUnreserved($0) }
    return !name.isEmpty && bytes[(mark + 1)...].dropFirst(name.count).first == UInt8(ascii: "=")
  }

  /// nil when every character may stand.
  private static func escapingWhatCannotStand(_ text: String) -> String? {
    var corrected: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "%"), UInt8(ascii: "?"): corrected.append(byte)
      case _ where ByteClass.isPathCharacter(byte): corrected.append(byte)
      default: EscapedByte.write(byte, to: &corrected)
      }
    }
    return corrected.count == text.utf8.count ? nil : String(decoding: corrected, as: UTF8.self)
  }

  private static func compile(_ text: [UInt8], shown: String) throws(OriginError) -> [Glob.Symbol] {
    var symbols: [Glob.Symbol] = []
    var index = 0
    while index < text.count {
      let rest = text[index...]
      if rest.starts(with: Array("**/".utf8)) {
        symbols.append(Glob.starsSlash)
        index += 3
      } else if rest.starts(with: Array("**".utf8)) {
        symbols.append(Glob.stars)
        index += 2
      } else if text[index] == UInt8(ascii: "*") {
        symbols.append(Glob.star)
        index += 1
      } else if text[index] == UInt8(ascii: "?") {
        symbols.append(Glob.one)
        index += 1
      } else if text[index] == UInt8(ascii: "%") {
        guard let byte = EscapedByte.at(index, in: text.span) else {
          throw OriginError("a % in a pattern must be followed by two hexadecimal digits, got \(quoted(shown))")
        }
        if ByteClass.isControl(byte) {
          throw OriginError(
            "a pattern must not have an escaped control character, got \(quoted(shown))")
        }
        symbols.append(ByteClass.isPathCharacter(byte) ? Glob.Symbol(byte) : Glob.escaped(byte))
        index += 3
      } else {
        symbols.append(Glob.Symbol(text[index]))
        index += 1
      }
    }
    return symbols
  }

  private static func hasDotSegment(_ symbols: [Glob.Symbol]) -> Bool {
    let dot = Glob.Symbol(UInt8(ascii: "."))
    return symbols.split { $0 == Glob.slash || $0 == Glob.starsSlash }.contains { $0 == [dot] || $0 == [dot, dot] }
  }
}
