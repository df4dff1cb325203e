internal import Policy

/// `browsers`: the web pages that may ask at a listener.
extension SettingsReader {
  func pages(_ node: YAMLNode, at place: TextLocation) -> [(origin: PageOrigin, place: TextLocation)] {
    guard let fields = fields(node, at: place, of: BrowsersKey.self) else { return [] }
    guard let list = fields[.origins] else {
      missing(
        .origins, in: fields, "\"browsers\" does not say which pages may ask",
        help: "add to it: origins: [https://app.example.com]")
      return []
    }
    var pages: [(origin: PageOrigin, place: TextLocation)] = []
    for node in filledList(list, of: "origins like https://app.example.com") ?? [] {
      guard let origin = page(node) else { continue }
      if pages.contains(where: { $0.origin == origin }) {
        report.error(node.place, "\(origin) stands in this list already")
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
        node.place, "\"null\" is the origin of every page that has none of its own, whoever wrote it",
        help: "serve the page from a server, and name that")
      return nil
    }
    if text.contains("*") {
      report.error(node.place, "every origin is named; a wildcard is none", help: "list each one by itself")
      return nil
    }
    guard let scheme = text.firstRange(of: "://") else {
      if ASCII.lowercased(text).hasPrefix("file:") { return refuseFiles(at: node.place) }
      let isHost = !text.contains { "@/?#".contains($0) }
      report.error(
        node.place, "an origin begins with its scheme",
        help: isHost ? "write \(likelyScheme(text))://\(quotedPlain(text))" : "write it like https://app.example.com")
      return nil
    }
    if ASCII.lowercased(String(text[..<scheme.lowerBound])) == "file" { return refuseFiles(at: node.place) }
    guard checkURL(text, at: node.place) else { return nil }
    do throws(OriginError) {
      let origin = try PageOrigin(parsing: text)
      if text[scheme.upperBound...].contains("/") {
        report.error(node.place, "an origin has no path, and no slash at its end", help: "write \(origin)")
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
      place, "pages from files have no origin that tells them apart",
      help: "serve the page from a server, and name that")
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
        place, "a page over plain http: everybody on the way can change it, and what it asks",
        help: "write https://\(origin.host), if it can be had so")
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
        page.place, "this is our own listener \"\(own.name)\": of what a browser shows of it, nothing may ask",
        help: "name the server that the page comes from")
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
