internal import Primitives

/// SHA-256 of a public key with its algorithm, the SubjectPublicKeyInfo (RFC 7469 §2.4).
package struct Pin: Hashable, Sendable, CustomStringConvertible, Comparable {
  package let digest: [UInt8]

  /// `nil` unless `digest` has 32 bytes.
  package init?(digest: [UInt8]) {
    guard digest.count == 32 else { return nil }
    self.digest = digest
  }

  /// Parses `sha256/BASE64`, `sha256//BASE64`, `pin-sha256="BASE64"` (RFC 7469 section 2.1.1) or `BASE64`. Throws for
  /// other text, and for a pin of zeros.
  package init(parsing text: String) throws(PolicySyntaxError) {
    // Base64 may begin with a slash, so `sha256//` is ambiguous.
    let spellings =
      Self.directive(text).map { [$0] }
      ?? ["sha256//", "sha256/", ""].filter(text.hasPrefix).map { Array(text.utf8.dropFirst($0.utf8.count)) }
    guard let digest = spellings.lazy.compactMap(Base64.decode).first(where: { $0.count == 32 }) else {
      throw PolicySyntaxError(Self.complaint(spellings.first ?? [], given: text))
    }
    self.digest = digest
    if isPlaceholder {
      throw PolicySyntaxError("the pin \(quoted(text)) consists of zeros: it is a placeholder, and matches no key")
    }
  }

  private var isPlaceholder: Bool { digest.allSatisfy { $0 == 0 } }

  /// `sha256/BASE64`
  package var description: String { "sha256/" + Base64.encode(digest) }

  package static func < (one: Pin, other: Pin) -> Bool { one.digest.lexicographicallyPrecedes(other.digest) }

  /// Returns the value of a directive of `Public-Key-Pins`, perhaps with a semicolon after it; `nil` for other text.
  private static func directive(_ text: String) -> [UInt8]? {
    guard var value = text.utf8.removing("pin-sha256=") else { return nil }
    if value.last == UInt8(ascii: ";") { value.removeLast() }
    let quote = UInt8(ascii: "\"")
    if value.count >= 2, value.first == quote, value.last == quote { value = Array(value.dropFirst().dropLast()) }
    return value
  }

  private static func complaint(_ encoded: [UInt8], given text: String) -> String {
    if let rest = ["sha256", "sha-256"].lazy.compactMap(text.utf8.removing).first, let mark = rest.first,
      "/:=-".utf8.contains(mark), let corrected = Pin(digest: Base64.decode(Array(rest.dropFirst())) ?? []),
      !corrected.isPlaceholder
    {
      return "the pin \(quoted(text)) does not begin with sha256/: expected \(corrected)"
    }
    if encoded.contains(UInt8(ascii: ";")) {
      return
        "\(quoted(text)) is not a single pin: expected one list item for each pin, like sha256/ and 44 characters of base64"
    }
    if let corrected = Pin(digest: hex(encoded)), !corrected.isPlaceholder {
      return "the pin \(quoted(text)) is in hexadecimal, not in base64: expected \(corrected)"
    }
    if let corrected = Pin(digest: lenient(encoded)), !corrected.isPlaceholder {
      return "the pin \(quoted(text)) is not in base64 with padding (RFC 4648 section 4): expected \(corrected)"
    }
    if let count = Base64.decode(encoded)?.count, count > 0 {
      return
        "the pin \(quoted(text)) has a length of \(count == 20 ? "20 bytes, like a SHA-1 hash" : "\(count) bytes"): expected 32 bytes in base64"
    }
    return "\(quoted(text)) is not a pin: expected sha256/ and 44 characters of base64"
  }

  private static func hex(_ text: [UInt8]) -> [UInt8] {
    let bytes = ASCII.bytes(hexadecimal: text.filter { $0 != UInt8(ascii: ":") })
    return bytes?.count == 32 ? bytes ?? [] : []
  }

  /// Decodes base64 in spite of common mistakes; empty for other text.
  private static func lenient(_ text: [UInt8]) -> [UInt8] {
    var characters: [UInt8] = []
    for byte in text {
      switch byte {
      case UInt8(ascii: "-"): characters.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): characters.append(UInt8(ascii: "/"))
      case UInt8(ascii: "="), 0x09, 0x0a, 0x0d, 0x20: continue
      default: characters.append(byte)
      }
    }
    // 43 characters carry 258 bits: the last two must be zero.
    guard characters.count == 43, let value = characters.popLast().flatMap(Base64.value) else { return [] }
    return Base64.decode(characters + [Base64.character(value & ~3), UInt8(ascii: "=")]) ?? []
  }
}

extension String.UTF8View {
  /// Returns the bytes after the prefix, which has lowercase letters and is compared without regard to case; `nil` for
  /// other text.
  fileprivate func removing(_ prefix: String) -> [UInt8]? {
    guard count >= prefix.utf8.count, zip(self, prefix.utf8).allSatisfy({ ASCII.lowercased($0) == $1 }) else {
      return nil
    }
    return Array(dropFirst(prefix.utf8.count))
  }
}
