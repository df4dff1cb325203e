import Primitives

/// Parts of a URL that may be a secret. Found before anything else looks at the URL, so that no message repeats them.
enum URLCheck {
  case fine, userinfo, query, fragment, port

  init(_ url: String) {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    // Anywhere: `https://us/er:password@host` has the host `us`, which is not what its author thinks.
    if rest.contains("@") {
      self = .userinfo
    } else if let mark = rest.first(where: { $0 == "?" || $0 == "#" }) {
      self = mark == "?" ? .query : .fragment
    } else {
      let authority = rest.prefix { $0 != "/" }
      let afterAddress = authority.lastIndex(of: "]").map { authority[authority.index(after: $0)...] } ?? authority
      let port = afterAddress.firstIndex(of: ":").map { afterAddress[afterAddress.index(after: $0)...] } ?? ""
      self = port.utf8.allSatisfy(ASCII.isDigit) ? .fine : .port
    }
  }
}

extension SettingsReader {
  func checkURL(_ text: String, at place: TextLocation) -> Bool {
    switch URLCheck(text) {
    case .fine: return true
    case .userinfo:
      report.error(
        place, "this URL has a user name or password, and secrets are not allowed in this file",
        help: "delete the user name and password from the URL. Put them into the user and password of the credential")
    case .query:
      report.error(
        place, "this URL has a query (?…), which is not allowed in this file",
        help: "delete the ? and everything after it")
    case .fragment:
      report.error(
        place, "this URL has a fragment (#…), which is not allowed in this file",
        help: "delete the # and everything after it")
    case .port: report.error(place, "the port of this URL is not a number", help: "write it like https://HOST:8443/")
    }
    return false
  }
}
