package import HTTP1
internal import Primitives

/// Entries of `Sec-WebSocket-Protocol` that carry a credential, because pages can set no other field of a WebSocket's request.
package enum CredentialSubprotocol {
  package static func names(_ field: Field, of bytes: [UInt8]) -> Bool {
    FieldName.resembles(field.name, of: bytes.span, "sec-websocket-protocol")
  }

  /// The entries that announce a credential in the entry behind them (Deepgram).
  private static var announcements: [String] { ["token", "bearer"] }

  fileprivate static func announces(_ entry: Range<Int>, of bytes: [UInt8]) -> Bool {
    for name in announcements where FieldName.matches(entry, of: bytes.span, name) { return true }
    return false
  }

  /// Whether the entry is a credential of any kind, by what it begins with.
  fileprivate static func isCredential(_ entry: Range<Int>, of bytes: [UInt8]) -> Bool {
    for row in CredentialFieldTable.subprotocols where begins(bytes[entry], with: row.name) { return true }
    return false
  }

  /// The text behind Kubernetes' prefix, if it is as long as a client token.
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

/// The entries of one line of `Sec-WebSocket-Protocol`, in their order. They are tokens (RFC 6455 section 11.3.4), so that every comma
/// ends one, and all lines of a head are one list.
package struct SubprotocolEntries {
  package struct Entry {
    package let range: Range<Int>
    /// `true` if the entry carries a credential, announces one in the entry behind it (`token, KEY`), or has a quotation mark or a blank,
    /// so that a server may take a part of it for an entry.
    package let isCredential: Bool
  }

  private var rest: Range<Int>
  private var isAnnounced = false
  private var hasLaterLine = false

  /// - Parameters:
  ///   - fields: all fields of the head; empty if the other lines do not matter.
  ///   - bytes: the bytes that the fields point into.
  package init(_ field: Field, among fields: [Field], of bytes: [UInt8]) {
    rest = field.value
    for other in fields where other.name.count == field.name.count && CredentialSubprotocol.names(other, of: bytes) {
      if other.name.lowerBound > field.name.lowerBound {
        hasLaterLine = true
        return
      }
      guard other.name.lowerBound < field.name.lowerBound else { continue }
      isAnnounced = Self.endsWithAnnouncement(other.value, of: bytes) ?? isAnnounced
    }
  }

  /// Returns `nil` behind the last entry.
  /// - Parameter bytes: the bytes that the field points into.
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
      || isQuoted || bytes[range].contains(where: ByteClass.isBlank)
    return Entry(range: range, isCredential: isCredential)
  }

  private mutating func nextRange(in bytes: [UInt8]) -> Range<Int>? {
    while !rest.isEmpty {
      var end = rest.lowerBound
      while end < rest.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
      var entry = rest.lowerBound..<end
      rest = min(end + 1, rest.upperBound)..<rest.upperBound
      while let first = entry.first, ByteClass.isBlank(bytes[first]) { entry.removeFirst() }
      while let last = entry.last, ByteClass.isBlank(bytes[last]) { entry.removeLast() }
      if !entry.isEmpty { return entry }
    }
    return nil
  }

  /// Whether the last entry of another line announces a credential in this one; `nil` if that line has no entry. Looks at the end of
  /// the line only, because it is asked for each pair of lines.
  private static func endsWithAnnouncement(_ value: Range<Int>, of bytes: [UInt8]) -> Bool? {
    var entry = value
    let longestGap = 16
    while let last = entry.last, bytes[last] == UInt8(ascii: ",") || ByteClass.isBlank(bytes[last]) {
      entry.removeLast()
      if value.upperBound - last > longestGap { return true }
    }
    guard let last = entry.last else { return nil }
    var start = last
    while start > entry.lowerBound, last - start < longestGap, bytes[start - 1] != UInt8(ascii: ","),
      !ByteClass.isBlank(bytes[start - 1])
    { start -= 1 }
    return CredentialSubprotocol.announces(start..<(last + 1), of: bytes)
  }
}
