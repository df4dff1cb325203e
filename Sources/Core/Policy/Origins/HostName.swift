/// A host as it is compared: an IP address, or a lower-case name of letters, digits, hyphens and underscores, without trailing dot.
package enum HostName: Hashable, Sendable, CustomStringConvertible {
  case name(String)
  case address(IPAddress)

  /// Without port. IPv6 in brackets. Refuses userinfo, percent-escapes, non-ASCII (says to write punycode), numeric
  /// look-alikes (`127.1`, `0x7f.1`), `*`, empty labels. A name loses its letters' case and one trailing dot.
  package init(parsing text: String) throws(OriginError) {
    if text.utf8.first == UInt8(ascii: "[") {
      guard text.utf8.last == UInt8(ascii: "]"), let address = IPAddress(parsing: String(text.dropFirst().dropLast())),
        text.utf8.contains(UInt8(ascii: ":"))
      else {
        throw OriginError("expected an IPv6 address in brackets such as [2001:db8::1], got \(quoted(text))")
      }
      self = .address(address)
      return
    }
    if let reason = Self.complaint(text) { throw OriginError(reason) }
    if let address = IPAddress(parsing: text) {
      self = .address(address)
      return
    }
    var name = text.lowercased()
    if name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    for label in labels {
      if label.isEmpty { throw OriginError("expected a host name without empty labels, got \(quoted(text))") }
      if label.count > 63 {
        throw OriginError("a label of a host name may have at most 63 characters, got \(quoted(text))")
      }
      if label.first == UInt8(ascii: "-") || label.last == UInt8(ascii: "-") {
        throw OriginError("a label of a host name must not begin or end with a hyphen, got \(quoted(text))")
      }
    }
    if name.utf8.count > 253 { throw OriginError("a host name may have at most 253 characters, got \(quoted(text))") }
    // Browsers and libc read these as IPv4 addresses in other notations (WHATWG URL, "ends in a number").
    if let last = labels.last, Self.isNumeric(last) {
      throw OriginError("expected a name, or an IPv4 address as four decimal numbers, got \(quoted(text))")
    }
    self = .name(name)
  }

  /// As in a URL: IPv6 in brackets.
  package var description: String {
    switch self {
    case .name(let name): name
    case .address(let address): address.bytes.count == 4 ? address.description : "[\(address)]"
    }
  }

  /// `localhost`, `*.localhost`, or a loopback address.
  package var isLocal: Bool {
    switch self {
    case .name(let name): name == "localhost" || name.hasSuffix(".localhost")
    case .address(let address): address.isLoopback
    }
  }

  /// A complaint about the characters, the likelier mistakes first.
  private static func complaint(_ text: String) -> String? {
    if text.isEmpty { return "expected a host name, got nothing" }
    if !text.utf8.allSatisfy({ $0 < 0x80 }) {
      return "a host name with letters outside ASCII must be in punycode (xn--…), got \(quoted(text))"
    }
    let has = { (character: Character) in text.contains(character) }
    if has("@") { return "expected a host without a user name or password, got \(quoted(text))" }
    if has("%") { return "a host must not have percent-escapes, got \(quoted(text))" }
    if has("*") { return "wildcards are not allowed: list each host, got \(quoted(text))" }
    if IPAddress(parsing: text) != nil, has(":") { return "an IPv6 address must be in brackets: [\(text)]" }
    if has(":") { return "expected a host without a port, got \(quoted(text))" }
    if !text.utf8.allSatisfy(isNameCharacter) {
      return "a host name may have only letters, digits, hyphens, underscores and dots, got \(quoted(text))"
    }
    return nil
  }

  /// Whether a name may have the byte. Underscores are in the names of many containers and Windows machines.
  static func isNameCharacter(_ byte: UInt8) -> Bool {
    ByteClass.isLetter(byte) || ByteClass.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: "_")
  }

  private static func isNumeric(_ label: Substring.UTF8View.SubSequence) -> Bool {
    if label.allSatisfy(ByteClass.isDigit) { return true }
    guard label.count >= 2, label.first == UInt8(ascii: "0"), label.dropFirst().first == UInt8(ascii: "x") else {
      return false
    }
    return label.dropFirst(2).allSatisfy { ByteClass.hexValue($0) != nil }
  }
}
