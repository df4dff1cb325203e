internal import Policy
internal import Settings

/// Checks of all listeners, with the listeners for metrics and of services.
struct ListenerChecks: SectionReader {
  let context: ReadingContext
  let listeners: [ListenerDraft]

  func check() {
    checkAddresses()
    checkPages()
    for listener in listeners { checkClientTokens(of: listener) }
  }

  private func checkAddresses() {
    let maxAddresses = 1024
    let all = listeners.flatMap(\.addresses)
    guard all.count <= maxAddresses else {
      return report.error(
        .wholeFile, "\(all.count) addresses to listen on are too many: at most \(maxAddresses) are allowed")
    }
    for (index, entry) in all.enumerated() {
      guard let other = all[..<index].first(where: { $0.address.collides(with: entry.address) }) else { continue }
      let line =
        other.location.line > 0
        ? "on \(report.line(other.location, seenFrom: entry.location))" : "by the default listener main"
      report.error(entry.location, "this address is already used \(line)")
    }
  }

  /// Reports an error for each origin in `browsers` that is an address of bearerd's own listeners (T35).
  private func checkPages() {
    // Pages from these addresses come from upstreams, and an upstream's page may not use other upstreams.
    // The listener of a service with its own port repeats the pages of another listener. Report each page once.
    var seen: [TextLocation] = []
    for page in listeners.flatMap(\.pages) where !seen.contains(page.location) {
      seen.append(page.location)
      guard let web = page.value.web, let own = listeners.first(where: { $0.isReached(at: web) }) else { continue }
      report.error(
        page.location,
        "this is the address of bearerd's own listener \"\(own.name)\", and pages from there may not send requests",
        help: "write the origin of the server that the page comes from")
    }
  }

  /// Reports a listener without `clients` if other machines can reach it.
  private func checkClientTokens(of listener: ListenerDraft) {
    guard !listener.hasClients else { return }
    for (address, location) in listener.addresses {
      guard case .tcp(let ip, let port) = address, !ip.isLoopback else { continue }
      report.error(
        location,
        "other machines can reach \(ip.isUnspecified ? "this address" : "\(ip)"), and bearerd cannot know their users: client tokens are required",
        help:
          "write localhost:\(port), or run \"bearerctl token NAME\" and add its line under \(listener.admission): clients: { NAME: sha256/… }"
      )
    }
  }
}

extension ListenerDraft {
  fileprivate func isReached(at origin: Origin) -> Bool {
    origin.scheme == .http
      && (addresses.contains { $0.address.isAddressed(by: origin.host, port: origin.port) }
        || hosts.contains("\(origin.host):\(origin.port)"))
  }
}
