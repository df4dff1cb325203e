import Primitives

/// A host: an IP address, or a name in lower case without a trailing dot.
package enum HostName: Hashable, Sendable, CustomStringConvertible {
  case name(String)
  case address(IPAddress)

  /// Parses a host without port; IPv6 in brackets. Throws for text that is not a plain host name or address, such as
  /// `*`, `a%2eb` and `0x7f.1`.
  package init(parsing text: String) throws(PolicySyntaxError) {
    if text.utf8.first == UInt8(ascii: "[") {
      guard text.utf8.last == UInt8(ascii: "]"), let address = IPAddress(parsing: String(text.dropFirst().dropLast())),
        text.utf8.contains(UInt8(ascii: ":"))
      else {
        throw PolicySyntaxError("\(quoted(text)) is not an IPv6 address in brackets: expected one like [2001:db8::1]")
      }
      self = .address(address)
      return
    }
    if let reason = Self.complaint(text) { throw PolicySyntaxError(reason) }
    if let address = IPAddress(parsing: text) {
      self = .address(address)
      return
    }
    var name = text.lowercased()
    if name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    for label in labels {
      if label.isEmpty {
        throw PolicySyntaxError("the host name \(quoted(text)) has an empty part before or after a dot")
      }
      if label.count > 63 {
        throw PolicySyntaxError("the host name \(quoted(text)) has more than 63 characters between two dots")
      }
      if label.first == UInt8(ascii: "-") || label.last == UInt8(ascii: "-") {
        throw PolicySyntaxError("the host name \(quoted(text)) has a part that begins or ends with a hyphen")
      }
    }
    if name.utf8.count > 253 { throw PolicySyntaxError("the host name \(quoted(text)) has more than 253 characters") }
    // Browsers and libc read these as IPv4 addresses in other notations (WHATWG URL, "ends in a number").
    if let last = labels.last, Self.isNumeric(last) {
      throw PolicySyntaxError("\(quoted(text)) is neither a host name nor an IPv4 address of four decimal numbers")
    }
    self = .name(name)
  }

  /// The host as in a URL: IPv6 addresses in brackets.
  package var description: String {
    switch self {
    case .name(let name): name
    case .address(let address): address.bytes.count == 4 ? address.description : "[\(address)]"
    }
  }

  /// Whether the host is `localhost`, `*.localhost`, or a loopback address.
  package var isLocal: Bool {
    switch self {
    case .name(let name): name == "localhost" || name.hasSuffix(".localhost")
    case .address(let address): address.isLoopback
    }
  }

  private static func complaint(_ text: String) -> String? {
    if text.isEmpty { return "the host name is missing" }
    if !text.utf8.allSatisfy({ $0 < 0x80 }) {
      return "the host name \(quoted(text)) has letters outside ASCII: expected punycode (xn--…)"
    }
    let has = { (character: Character) in text.contains(character) }
    if has("@") { return "\(quoted(text)) has an @: expected only a host, without a user name and password" }
    if has("%") { return "the host \(quoted(text)) has a percent-escape, which is not allowed" }
    if has("*") { return "the host \(quoted(text)) has a wildcard, which is not allowed: list each host" }
    if IPAddress(parsing: text) != nil, has(":") {
      return "the IPv6 address \(quoted(text)) has no brackets: expected [\(text)]"
    }
    if has(":") { return "\(quoted(text)) has a port or another colon: expected only a host" }
    if !text.utf8.allSatisfy(isNameCharacter) {
      return "the host name \(quoted(text)) has characters other than letters, digits, hyphens, underscores and dots"
    }
    return nil
  }

  static func isNameCharacter(_ byte: UInt8) -> Bool {
    // Many containers and Windows machines have underscores in their names.
    ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: "_")
  }

  private static func isNumeric(_ label: Substring.UTF8View.SubSequence) -> Bool {
    if label.allSatisfy(ASCII.isDigit) { return true }
    guard label.count >= 2, label.first == UInt8(ascii: "0"), label.dropFirst().first == UInt8(ascii: "x") else {
      return false
    }
    return label.dropFirst(2).allSatisfy { ASCII.hexValue($0) != nil }
  }
}
