/// The other cookies in a head's last line, which the credential's cookie joins: a request has one Cookie
/// field (RFC 6265 section 5.4).
struct CookieMerge {
  /// The end of the line of cookies in the head, before its line break.
  let end: Int

  private static let name = Array("Cookie: ".utf8)
  static var nameCount: Int { name.count }

  /// nil: its last line has no cookies.
  init?(_ head: Span<UInt8>) {
    end = head.count - 2
    guard end > 2 else { return nil }
    var start = end
    while start > 0, head[start - 1] != 0x0A { start -= 1 }
    guard end - start > Self.name.count else { return nil }
    for index in Self.name.indices where head[start + index] != Self.name[index] { return nil }
  }
}
