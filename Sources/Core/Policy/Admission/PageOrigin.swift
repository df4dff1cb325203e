import Primitives

/// The origin of a web page, or of a program that shows pages: `https://app.example.com`, `app://obsidian.md` (RFC 6454
/// §6.2).
package struct PageOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The origin as browsers write it.
  package let description: String
  /// The parsed origin of an http or https page; `nil` for another scheme.
  package let web: Origin?

  package init(_ origin: Origin) {
    self.init(description: origin.description, web: origin)
  }

  private init(description: String, web: Origin?) {
    (self.description, self.web) = (description, web)
  }

  /// Parses `SCHEME://HOST` or `SCHEME://HOST:PORT`. Throws for `file:`, a path, and bytes that browsers never write in
  /// an origin.
  package init(parsing text: String) throws(PolicySyntaxError) {
    guard let colon = text.firstRange(of: "://") else {
      throw PolicySyntaxError("the origin \(quoted(text)) has no scheme: expected one like https://app.example.com")
    }
    let scheme = text[..<colon.lowerBound].lowercased()
    if scheme == "http" || scheme == "https" {
      self.init(try Origin(parsing: text))
      return
    }
    guard Self.isScheme(scheme) else { throw PolicySyntaxError("\(quoted(scheme)) is not a valid scheme") }
    if scheme == "file" {
      throw PolicySyntaxError(
        "\(quoted(text)) is not an origin: pages that are opened from files have none of their own")
    }
    let authority = text[colon.upperBound...]
    let host = authority.prefix { $0 != ":" && $0 != "/" }
    if authority.contains("/") {
      throw PolicySyntaxError("the origin \(quoted(text)) has a path: expected \(scheme)://\(host)")
    }
    guard !host.isEmpty, host.utf8.allSatisfy(ByteClass.isUnreserved), text.utf8.count <= Self.longest else {
      throw PolicySyntaxError(
        "the host of the origin \(quoted(text)) is empty, too long, or has characters other than letters, digits and -._~"
      )
    }
    if host.endIndex != authority.endIndex {
      _ = try URLParts.port(String(authority[authority.index(after: host.endIndex)...]), of: text)
    }
    self.init(description: "\(scheme)://\(authority)", web: nil)
  }

  /// Maximum length of an origin in bytes.
  static let longest = 320

  private static func isScheme(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) else { return false }
    return text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "+-.".utf8.contains($0) }
  }
}
