internal import HTTP1

extension RequestHead {
  /// Whether a browser might have sent this, to go by what it says of itself: all begin `User-Agent` alike and name in it what
  /// shows their pages; nearly all say which languages their person reads, and headless ones may not. A page can have its
  /// requests sent with less of none of these. Of programs, PowerShell's and some libraries' begin so, and name no such thing;
  /// Node's `fetch` names languages.
  var looksLikeBrowsers: Bool {
    var isMozilla = false
    var namesMore = false
    for field in fields {
      switch field.known {
      case .userAgent:
        let agent = bytes[field.value]
        isMozilla = isMozilla || agent.starts(with: "Mozilla/".utf8)
        namesMore = namesMore || ["AppleWebKit/", "Gecko/", "Firefox/"].contains { agent.holds($0) }
      case .other:
        namesMore = namesMore || FieldName.matches(field.name, of: bytes.span, "accept-language")
      default: break
      }
    }
    return isMozilla && namesMore
  }
}

extension ArraySlice<UInt8> {
  fileprivate func holds(_ text: String) -> Bool {
    indices.contains { self[$0...].starts(with: text.utf8) }
  }
}
