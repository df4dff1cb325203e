package import HTTP1
internal import Primitives

/// Recognizes entries of `Sec-WebSocket-Protocol` that carry a credential.
package enum CredentialSubprotocol {
  package static func isSubprotocolField(_ field: Field, of bytes: [UInt8]) -> Bool {
    FieldName.resembles(field.name, of: bytes.span, "sec-websocket-protocol")
  }

  /// Entries that announce that the next entry is a credential (Deepgram).
  private static var announcements: [String] { ["token", "bearer"] }

  fileprivate static func announces(_ entry: Range<Int>, of bytes: [UInt8]) -> Bool {
    for name in announcements where FieldName.matches(entry, of: bytes.span, name) { return true }
    return false
  }

  fileprivate static func isCredential(_ entry: Range<Int>, of bytes: [UInt8]) -> Bool {
    for row in CredentialFieldTable.subprotocols where begins(bytes[entry], with: row.name) { return true }
    return false
  }

  /// Decodes the base64url text after the prefix of Kubernetes; `nil` if the entry is no such text.
  static func decoded(_ entry: ArraySlice<UInt8>) -> [UInt8]? {
    let prefix = CredentialFieldTable.kubernetesSubprotocol
    guard begins(entry, with: prefix) else { return nil }
    let digits = entry.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "=") }
    guard digits.count == ClientToken.length * 4 / 3 else { return nil }
    return Base64.decode(
      digits.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0 })
  }

  private static func begins(_ entry: ArraySlice<UInt8>, with prefix: String) -> Bool {
    entry.count >= prefix.utf8.count && zip(entry, prefix.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
  }
}

/// Iterates over the entries of one `Sec-WebSocket-Protocol` field (RFC 6455 section 11.3.4).
package struct SubprotocolEntries {
  package struct Entry {
    package let range: Range<Int>
    /// Whether the entry carries a credential, or announces one in the next entry (`token, KEY`).
    package let isCredential: Bool
  }

  private var rest: Range<Int>
  private var isAnnounced = false
  private var hasLaterLine = false

  /// - Parameters:
  ///   - fields: All fields of the head. May be empty if `isCredential` is not used.
  ///   - bytes: The bytes of the head.
  package init(_ field: Field, among fields: [Field], of bytes: [UInt8]) {
    rest = field.value
    for other in fields
    where other.name.count == field.name.count && CredentialSubprotocol.isSubprotocolField(other, of: bytes) {
      if other.name.lowerBound > field.name.lowerBound {
        hasLaterLine = true
        return
      }
      guard other.name.lowerBound < field.name.lowerBound else { continue }
      isAnnounced = Self.endsWithAnnouncement(other.value, of: bytes) ?? isAnnounced
    }
  }

  /// Returns the next entry of the field; `nil` after the last entry.
  /// - Parameter bytes: The bytes of the head.
  package mutating func next(in bytes: [UInt8]) -> Entry? {
    guard let range = nextRange(in: bytes) else { return nil }
    if isAnnounced {
      isAnnounced = false
      return Entry(range: range, isCredential: true)
    }
    let isQuoted = bytes[range].contains(UInt8(ascii: "\""))
    if isQuoted || CredentialSubprotocol.announces(range, of: bytes) {
      var others = self
      isAnnounced = hasLaterLine || others.nextRange(in: bytes) != nil
    }
    let isCredential =
      isAnnounced || CredentialSubprotocol.isCredential(range, of: bytes)
      || isQuoted || bytes[range].contains(where: ASCII.isBlank)
    return Entry(range: range, isCredential: isCredential)
  }

  private mutating func nextRange(in bytes: [UInt8]) -> Range<Int>? {
    while !rest.isEmpty {
      var end = rest.lowerBound
      while end < rest.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
      var entry = rest.lowerBound..<end
      rest = min(end + 1, rest.upperBound)..<rest.upperBound
      while let first = entry.first, ASCII.isBlank(bytes[first]) { entry.removeFirst() }
      while let last = entry.last, ASCII.isBlank(bytes[last]) { entry.removeLast() }
      if !entry.isEmpty { return entry }
    }
    return nil
  }

  /// Whether the last entry of the field announces a credential in the next field; `nil` if the field has no entry.
  private static func endsWithAnnouncement(_ value: Range<Int>, of bytes: [UInt8]) -> Bool? {
    // Reads only the end of the value, to limit the time for heads with many such fields.
    var entry = value
    let longestGap = 16
    while let last = entry.last, bytes[last] == UInt8(ascii: ",") || ASCII.isBlank(bytes[last]) {
      entry.removeLast()
      if value.upperBound - last > longestGap { return true }
    }
    guard let last = entry.last else { return nil }
    var start = last
    while start > entry.lowerBound, last - start < longestGap, bytes[start - 1] != UInt8(ascii: ","),
      !ASCII.isBlank(bytes[start - 1])
    { start -= 1 }
    return CredentialSubprotocol.announces(start..<(last + 1), of: bytes)
  }
}
