import Primitives

/// The origin of a web page, or of a program that shows pages: `https://app.example.com`, `app://obsidian.md`,
/// `chrome-extension://…` (RFC 6454 §6.2). It is compared byte for byte with `Origin`.
package struct PageOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The origin as browsers write it. For http and https: lower-case, without the scheme's own port.
  package let description: String
  /// The origin of an http or https page; `nil` for another scheme.
  package let web: Origin?

  package init(_ origin: Origin) {
    self.init(description: origin.description, web: origin)
  }

  private init(description: String, web: Origin?) {
    (self.description, self.web) = (description, web)
  }

  /// Reads `SCHEME://HOST` or `SCHEME://HOST:PORT`. Throws for `file:`, whose pages are all the same origin or none, for a path, and
  /// for bytes that no browser writes into an origin. Hosts of schemes other than http and https keep their case.
  package init(parsing text: String) throws(OriginError) {
    guard let colon = text.firstRange(of: "://") else {
      throw OriginError("the origin \(quoted(text)) has no scheme: expected one like https://app.example.com")
    }
    let scheme = text[..<colon.lowerBound].lowercased()
    if scheme == "http" || scheme == "https" {
      let origin = try Origin(parsing: text)
      self.init(description: origin.description, web: origin)
      return
    }
    guard Self.isScheme(scheme) else { throw OriginError("\(quoted(scheme)) is not a valid scheme") }
    if scheme == "file" {
      throw OriginError("\(quoted(text)) is not an origin: pages that are opened from files have none of their own")
    }
    let authority = text[colon.upperBound...]
    let host = authority.prefix { $0 != ":" && $0 != "/" }
    if authority.contains("/") {
      throw OriginError("the origin \(quoted(text)) has a path: expected \(scheme)://\(host)")
    }
    guard !host.isEmpty, host.utf8.allSatisfy(Self.isHostCharacter), text.utf8.count <= Self.longest else {
      throw OriginError(
        "the host of the origin \(quoted(text)) is empty, too long, or has characters other than letters, digits and -._~"
      )
    }
    if host.endIndex != authority.endIndex {
      let digits = authority[authority.index(after: host.endIndex)...]
      guard let port = UInt16(digits), port > 0, String(port) == digits else {
        throw OriginError("the port \(quoted(String(digits))) in \(quoted(text)) is not a number from 1 to 65535")
      }
    }
    self.init(description: "\(scheme)://\(authority)", web: nil)
  }

  /// The longest origin in bytes. A host name has at most 253, and the identifiers of extensions and views have at most 64.
  static let longest = 320

  private static func isScheme(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) else { return false }
    return text.utf8.allSatisfy { byte in
      ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: ".")
    }
  }

  private static func isHostCharacter(_ byte: UInt8) -> Bool { ByteClass.isUnreserved(byte) }
}
