internal import Policy
import Primitives

/// `browsers`: the web pages that may ask at a listener.
extension SettingsReader {
  func pages(_ node: YAMLNode, at place: TextLocation) -> [(origin: PageOrigin, place: TextLocation)] {
    guard let fields = fields(node, at: place, of: BrowsersKey.self) else { return [] }
    guard let list = fields[.origins] else {
      missing(
        .origins, in: fields, "\"browsers\" has no origins, so no web page may send requests",
        help: "add origins: [https://app.example.com]")
      return []
    }
    var pages: [(origin: PageOrigin, place: TextLocation)] = []
    for node in filledList(list, of: "origins like https://app.example.com") ?? [] {
      guard let origin = page(node) else { continue }
      if pages.contains(where: { $0.origin == origin }) {
        report.error(node.place, "\(origin) is listed twice")
      } else {
        pages.append((origin, node.place))
      }
    }
    return pages
  }

  /// Strictly what a browser writes into `Origin`, but for the case of letters and the scheme's own port: what looks like
  /// more would not be obeyed.
  private func page(_ node: YAMLNode) -> PageOrigin? {
    guard let text = text(node, "an origin like https://app.example.com") else { return nil }
    if text == "null" {
      report.error(
        node.place, "\"null\" is not allowed: every page without an origin of its own sends this value",
        help: "serve the page from a web server, and write the origin of that server")
      return nil
    }
    if text.contains("*") {
      report.error(node.place, "wildcards are not allowed in an origin", help: "list each origin")
      return nil
    }
    guard let scheme = text.firstRange(of: "://") else {
      if ASCII.lowercased(text).hasPrefix("file:") { return refuseFiles(at: node.place) }
      let isHost = !text.contains { "@/?#".contains($0) }
      report.error(
        node.place, "the origin has no scheme",
        help: isHost ? "write \(likelyScheme(text))://\(quotedPlain(text))" : "write it like https://app.example.com")
      return nil
    }
    if ASCII.lowercased(String(text[..<scheme.lowerBound])) == "file" { return refuseFiles(at: node.place) }
    guard checkURL(text, at: node.place) else { return nil }
    do throws(OriginError) {
      let origin = try PageOrigin(parsing: text)
      if text[scheme.upperBound...].contains("/") {
        report.error(node.place, "the origin has a path, or a slash at its end", help: "write \(origin)")
        return nil
      }
      if let web = origin.web { warn(of: web, at: node.place) }
      return origin
    } catch {
      report.error(node.place, error.message)
      return nil
    }
  }

  private func refuseFiles(at place: TextLocation) -> PageOrigin? {
    report.error(
      place, "this is not an origin: a page that is opened from a file has none of its own",
      help: "serve the page from a web server, and write the origin of that server")
    return nil
  }

  private func likelyScheme(_ host: String) -> String {
    host.hasPrefix("localhost") || host.hasPrefix("127.") || host.hasPrefix("[::1]") ? "http" : "https"
  }

  private func warn(of origin: Origin, at place: TextLocation) {
    switch origin.scheme {
    case .https: return
    case .http where origin.host.isLocal: return
    case .http:
      report.warning(
        place, "this page is loaded over plain http: anyone on the network can change the page and its requests",
        help: "write https://\(origin.host) if the server supports https")
    }
  }

  /// Pages of ours would be pages of every upstream behind us (T35).
  func checkPages(_ listeners: [ListenerDraft]) {
    // Ports of services take over the lists of their listeners.
    var seen: [TextLocation] = []
    for page in listeners.flatMap(\.pages) where !seen.contains(page.place) {
      seen.append(page.place)
      guard let web = page.origin.web, let own = listeners.first(where: { $0.isReached(at: web) }) else { continue }
      report.error(
        page.place,
        "this is the address of bearerd's own listener \"\(own.name)\", and pages from there may not send requests",
        help: "write the origin of the server that the page comes from")
    }
  }
}

extension ListenerDraft {
  fileprivate func isReached(at origin: Origin) -> Bool {
    switch origin.scheme {
    case .https: false
    case .http:
      addresses.contains { $0.address.isCalled(origin.host, port: origin.port) }
        || hosts.contains("\(origin.host):\(origin.port)")
    }
  }
}
