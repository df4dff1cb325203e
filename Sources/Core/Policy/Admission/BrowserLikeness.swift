internal import HTTP1

extension RequestHead {
  /// Whether the request's fields look like those of a browser.
  var looksLikeBrowser: Bool {
    // One sign is not enough: PowerShell also sends `Mozilla/`, and Node's `fetch` also sends `Accept-Language`.
    var isMozilla = false
    var hasOtherSign = false
    for field in fields {
      switch field.known {
      case .userAgent:
        let agent = bytes[field.value]
        isMozilla = isMozilla || agent.starts(with: "Mozilla/".utf8)
        hasOtherSign = hasOtherSign || ["AppleWebKit/", "Gecko/", "Firefox/"].contains { agent.includes($0) }
      case .other:
        hasOtherSign = hasOtherSign || FieldName.matches(field.name, of: bytes.span, "accept-language")
      default: break
      }
    }
    return isMozilla && hasOtherSign
  }
}

extension ArraySlice<UInt8> {
  fileprivate func includes(_ text: String) -> Bool {
    indices.contains { self[$0...].starts(with: text.utf8) }
  }
}
