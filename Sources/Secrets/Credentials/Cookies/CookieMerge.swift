/// Finds the client's `Cookie` field, to append the credential's cookie to it (RFC 6265 section 5.4).
struct CookieMerge {
  /// Index of the end of the `Cookie` line, before its line break.
  let end: Int

  private static let name = Array("Cookie: ".utf8)
  static var nameCount: Int { name.count }

  /// Returns `nil` if the last line of the head is not a `Cookie` field.
  init?(_ head: Span<UInt8>) {
    end = head.count - 2
    guard end > 2 else { return nil }
    var start = end
    while start > 0, head[start - 1] != 0x0A { start -= 1 }
    guard end - start > Self.name.count else { return nil }
    for index in Self.name.indices where head[start + index] != Self.name[index] { return nil }
  }
}
