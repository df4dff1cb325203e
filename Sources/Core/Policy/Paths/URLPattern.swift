/// A glob that must match the whole path below a service's base. `*` matches within a segment, `**` across segments,
/// and `?` one character.
package struct URLPattern: Sendable, Equatable {
  /// The pattern as configured, with one leading slash; or `*`.
  package let text: String
  let symbols: [Glob.Symbol]
  /// Number of characters before the pattern's first wildcard.
  let literalCount: Int
  /// Whether ASCII letters match in either case.
  package private(set) var ignoresCase = false

  var ignoringCase: URLPattern {
    var pattern = self
    pattern.ignoresCase = true
    return pattern
  }

  /// `symbols`, in lower case if the pattern ignores case.
  var matchSymbols: [Glob.Symbol] { ignoresCase ? symbols.map(Glob.lowercased) : symbols }

  /// Whether the pattern is `*`, the target of an OPTIONS for the whole server (RFC 9112 §3.2.4).
  package var isAsterisk: Bool { symbols.isEmpty }

  /// Parses a pattern. Throws for empty text, a scheme or authority, `.` and `..` segments, a query, and characters
  /// that paths cannot contain.
  package init(parsing text: String) throws(PolicySyntaxError) {
    if text == "*" {
      (self.text, symbols, literalCount) = (text, [], 0)
      return
    }
    if let reason = Self.complaint(text) { throw PolicySyntaxError(reason) }
    let rooted = text.utf8.first == UInt8(ascii: "/") ? text : "/" + text
    let symbols = try Self.compile(Array(rooted.utf8), shown: text)
    self.text = rooted
    self.symbols = symbols
    literalCount = symbols.firstIndex(where: Glob.isWildcard) ?? symbols.count
    guard symbols.count - literalCount <= Glob.maximumStates else {
      throw PolicySyntaxError(
        "the pattern has \(symbols.count - literalCount) characters from its first wildcard on, and at most \(Glob.maximumStates) are allowed"
      )
    }
    if Self.hasDotSegment(symbols) {
      throw PolicySyntaxError("the pattern \(quoted(text)) has a . or .. segment, which is not allowed")
    }
  }

  /// Whether the pattern matches.
  /// - Parameter path: The path below the service's base, from the slash that ends the base.
  package func matches(_ path: Span<UInt8>) -> Bool {
    Glob.matches(path, pattern: matchSymbols.span, literals: literalCount, ignoringCase: ignoresCase)
  }

  /// Whether the pattern would match if it did not ignore case.
  package func matchesAsWritten(_ path: Span<UInt8>) -> Bool {
    Glob.matches(path, pattern: symbols.span, literals: literalCount)
  }

  private static func complaint(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    if bytes.isEmpty { return "the pattern is empty: expected one like /repos/**" }
    if text.contains("://") || bytes.starts(with: [0x2f, 0x2f]) {
      return
        "the pattern \(quoted(text)) has a scheme or a host: expected only a path below the service, like /repos/**"
    }
    if bytes.first != UInt8(ascii: "/"), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      !bytes[..<colon].contains(UInt8(ascii: "/"))
    {
      return
        "the pattern \(quoted(text)) has a colon in its first segment, but no slash at its beginning: expected \(quoted("/" + text))"
    }
    if bytes.contains(UInt8(ascii: "#")) {
      return "the pattern \(quoted(text)) has a fragment (#…), which clients never send"
    }
    if bytes.contains(UInt8(ascii: "\\")) {
      return "the pattern \(quoted(text)) has a backslash, which is not allowed: to match %5C in a path, write %5C"
    }
    if bytes.contains(where: ByteClass.isControl) {
      return "the pattern \(quoted(text)) has a control character, which is not allowed"
    }
    if looksLikeQuery(bytes) {
      return
        "the pattern \(quoted(text)) seems to have a query, but a pattern matches only the path: ? stands for one character"
    }
    if let corrected = escapingInvalidCharacters(text) {
      return
        "the pattern \(quoted(text)) has characters that must be escaped in a URL: expected \(quoted(corrected))"
    }
    return nil
  }

  private static func looksLikeQuery(_ bytes: [UInt8]) -> Bool {
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return false }
    let name = bytes[(mark + 1)...].prefix { ByteClass.isUnreserved($0) }
    return !name.isEmpty && bytes[(mark + 1)...].dropFirst(name.count).first == UInt8(ascii: "=")
  }

  /// Returns the pattern with its invalid characters percent-encoded; `nil` if all characters are valid.
  private static func escapingInvalidCharacters(_ text: String) -> String? {
    var corrected: [UInt8] = []
    for byte in text.utf8 {
      EscapedByte.write(byte, to: &corrected, unless: ByteClass.isPathCharacter(byte) || "/%?".utf8.contains(byte))
    }
    return corrected.count == text.utf8.count ? nil : String(decoding: corrected, as: UTF8.self)
  }

  private static func compile(_ text: [UInt8], shown: String) throws(PolicySyntaxError) -> [Glob.Symbol] {
    var symbols: [Glob.Symbol] = []
    var index = 0
    while index < text.count {
      let rest = text[index...]
      if rest.starts(with: Array("**/".utf8)) {
        symbols.append(Glob.doubleStarSlash)
        index += 3
      } else if rest.starts(with: Array("**".utf8)) {
        symbols.append(Glob.doubleStar)
        index += 2
      } else if text[index] == UInt8(ascii: "*") {
        symbols.append(Glob.star)
        index += 1
      } else if text[index] == UInt8(ascii: "?") {
        symbols.append(Glob.questionMark)
        index += 1
      } else if text[index] == UInt8(ascii: "%") {
        guard let byte = EscapedByte.at(index, in: text.span) else {
          throw PolicySyntaxError("the pattern \(quoted(shown)) has a % without two hexadecimal digits after it")
        }
        if ByteClass.isControl(byte) {
          throw PolicySyntaxError(
            "the pattern \(quoted(shown)) has an escaped control character, which is not allowed")
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
    return symbols.split { $0 == Glob.slash || $0 == Glob.doubleStarSlash }.contains {
      $0 == [dot] || $0 == [dot, dot]
    }
  }
}
