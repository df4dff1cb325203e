internal import Policy
import Primitives
internal import Settings

/// Reads `browsers`: the web pages that may send requests to a listener.
struct BrowsersReader: SectionReader {
  let context: ReadingContext

  func pages(_ listener: Fields<ListenerKey>) -> [(value: PageOrigin, location: TextLocation)] {
    guard let fields = section(.browsers, of: listener, as: BrowsersKey.self),
      let list = required(
        .origins, of: fields, "\"browsers\" has no origins, so no web page may send requests",
        help: "add origins: [https://app.example.com]")
    else { return [] }
    return distinct(filledList(list, of: "origins like https://app.example.com")) { page($0) }
  }

  private func page(_ node: YAMLNode) -> PageOrigin? {
    guard let text = text(node, "an origin like https://app.example.com") else { return nil }
    if text == "null" {
      return report.error(
        node.location, "\"null\" is not allowed: every page without an origin of its own sends this value",
        help: "serve the page from a web server, and write the origin of that server")
    }
    if text.contains("*") {
      return report.error(node.location, "wildcards are not allowed in an origin", help: "list each origin")
    }
    guard let scheme = text.firstRange(of: "://") else {
      if ASCII.lowercased(text).hasPrefix("file:") { return refuseFiles(at: node.location) }
      let isHost = !text.contains { "@/?#".contains($0) }
      return report.error(
        node.location, "the origin has no scheme",
        help: isHost ? "write \(likelyScheme(text))://\(quotedPlain(text))" : "write it like https://app.example.com")
    }
    if ASCII.lowercased(String(text[..<scheme.lowerBound])) == "file" { return refuseFiles(at: node.location) }
    guard let origin = url(node, "an origin", PageOrigin.init(parsing:)) else { return nil }
    if text[scheme.upperBound...].contains("/") {
      return report.error(node.location, "the origin has a path, or a slash at its end", help: "write \(origin)")
    }
    if let web = origin.web, web.scheme == .http, !web.host.isLocal {
      report.warning(
        node.location,
        "this page is loaded over plain http: anyone on the network can change the page and its requests",
        help: "write https://\(web.host) if the server supports https")
    }
    return origin
  }

  private func refuseFiles(at location: TextLocation) -> PageOrigin? {
    return report.error(
      location, "this is not an origin: a page that is opened from a file has none of its own",
      help: "serve the page from a web server, and write the origin of that server")
  }

  private func likelyScheme(_ host: String) -> String {
    host.hasPrefix("localhost") || host.hasPrefix("127.") || host.hasPrefix("[::1]") ? "http" : "https"
  }
}
