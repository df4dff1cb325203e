internal import HTTP1

extension RequestHead {
  /// Whether a browser might have sent this, to go by what it says of itself: all begin `User-Agent` alike, and all say which
  /// languages their person reads. A page can have its requests sent with less of neither. Of programs, PowerShell's and
  /// some libraries' do the one, Node's `fetch` the other.
  var looksLikeBrowsers: Bool {
    var isMozilla = false
    var namesLanguages = false
    for field in fields {
      switch field.known {
      case .userAgent: isMozilla = isMozilla || bytes[field.value].starts(with: "Mozilla/".utf8)
      case .other:
        namesLanguages = namesLanguages || FieldName.matches(field.name, of: bytes.span, "accept-language")
      default: break
      }
    }
    return isMozilla && namesLanguages
  }
}
