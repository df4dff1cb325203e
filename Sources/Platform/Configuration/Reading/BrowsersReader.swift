internal import Policy
import Primitives
internal import Settings

/// Reads `browsers`: the web pages that may send requests to a listener.
extension SettingsReader {
  func pages(_ node: YAMLNode, at location: TextLocation) -> [(origin: PageOrigin, location: TextLocation)] {
    guard let fields = fields(node, at: location, of: BrowsersKey.self) else { return [] }
    guard let list = fields[.origins] else {
      missing(
        .origins, in: fields, "\"browsers\" has no origins, so no web page may send requests",
        help: "add origins: [https://app.example.com]")
      return []
    }
    var pages: [(origin: PageOrigin, location: TextLocation)] = []
    for node in filledList(list, of: "origins like https://app.example.com") ?? [] {
      guard let origin = page(node) else { continue }
      if pages.contains(where: { $0.origin == origin }) {
        report.error(node.location, "\(origin) is listed twice")
      } else {
        pages.append((origin, node.location))
      }
    }
    return pages
  }

  private func page(_ node: YAMLNode) -> PageOrigin? {
    guard let text = text(node, "an origin like https://app.example.com") else { return nil }
    if text == "null" {
      report.error(
        node.location, "\"null\" is not allowed: every page without an origin of its own sends this value",
        help: "serve the page from a web server, and write the origin of that server")
      return nil
    }
    if text.contains("*") {
      report.error(node.location, "wildcards are not allowed in an origin", help: "list each origin")
      return nil
    }
    guard let scheme = text.firstRange(of: "://") else {
      if ASCII.lowercased(text).hasPrefix("file:") { return refuseFiles(at: node.location) }
      let isHost = !text.contains { "@/?#".contains($0) }
      report.error(
        node.location, "the origin has no scheme",
        help: isHost ? "write \(likelyScheme(text))://\(quotedPlain(text))" : "write it like https://app.example.com")
      return nil
    }
    if ASCII.lowercased(String(text[..<scheme.lowerBound])) == "file" { return refuseFiles(at: node.location) }
    guard checkURL(text, at: node.location) else { return nil }
    do throws(PolicySyntaxError) {
      let origin = try PageOrigin(parsing: text)
      if text[scheme.upperBound...].contains("/") {
        report.error(node.location, "the origin has a path, or a slash at its end", help: "write \(origin)")
        return nil
      }
      if let web = origin.web { warn(of: web, at: node.location) }
      return origin
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  private func refuseFiles(at location: TextLocation) -> PageOrigin? {
    report.error(
      location, "this is not an origin: a page that is opened from a file has none of its own",
      help: "serve the page from a web server, and write the origin of that server")
    return nil
  }

  private func likelyScheme(_ host: String) -> String {
    host.hasPrefix("localhost") || host.hasPrefix("127.") || host.hasPrefix("[::1]") ? "http" : "https"
  }

  private func warn(of origin: Origin, at location: TextLocation) {
    switch origin.scheme {
    case .https: return
    case .http where origin.host.isLocal: return
    case .http:
      report.warning(
        location, "this page is loaded over plain http: anyone on the network can change the page and its requests",
        help: "write https://\(origin.host) if the server supports https")
    }
  }

  /// Reports an error for each origin in `browsers` that is an address of bearerd's own listeners (T35).
  func checkPages(_ listeners: [ListenerDraft]) {
    // Pages from these addresses come from upstreams, and an upstream's page may not use other upstreams.
    // The listener of a service with its own port repeats the pages of another listener. Report each page once.
    var seen: [TextLocation] = []
    for page in listeners.flatMap(\.pages) where !seen.contains(page.location) {
      seen.append(page.location)
      guard let web = page.origin.web, let own = listeners.first(where: { $0.isReached(at: web) }) else { continue }
      report.error(
        page.location,
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
      addresses.contains { $0.address.isAddressed(by: origin.host, port: origin.port) }
        || hosts.contains("\(origin.host):\(origin.port)")
    }
  }
}
