import Primitives

/// The part of a URL that may contain a secret, such as a query. `fine` if there is no such part.
enum URLCheck {
  case fine, userinfo, query, fragment, port

  init(_ url: String) {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    // Anywhere, because the host of `https://us/er:password@host` is `us`, contrary to the author's intention.
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

extension SectionReader {
  func checkURL(_ text: String, at location: TextLocation) -> Bool {
    switch URLCheck(text) {
    case .fine: return true
    case .userinfo:
      report.error(
        location, "this URL has a user name or password, and secrets are not allowed in this file",
        help: "delete the user name and password from the URL. Put them into the user and password of the credential")
    case .query:
      report.error(
        location, "this URL has a query (?…), which is not allowed in this file",
        help: "delete the ? and everything after it")
    case .fragment:
      report.error(
        location, "this URL has a fragment (#…), which is not allowed in this file",
        help: "delete the # and everything after it")
    case .port: report.error(location, "the port of this URL is not a number", help: "write it like https://HOST:8443/")
    }
    return false
  }
}
