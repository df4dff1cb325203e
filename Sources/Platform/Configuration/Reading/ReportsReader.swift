internal import Policy
internal import Settings

/// Reads `reports`: where bearerd reports failed verifications.
struct ReportsReader: SectionReader {
  let context: ReadingContext

  func reports(_ top: Fields<TopKey>) -> ReportSettings? {
    guard let fields = section(.reports, of: top, as: ReportsKey.self) else { return nil }
    var trust = TrustPolicy()
    trust.caFile = fields[.caFile].flatMap { certificateFile($0) }
    let allowed = addressBlocks(fields[.allowAddresses])
    guard
      let node = required(
        .to, of: fields, "\"reports\" has no URL", help: "add to: https://reports.example.net/pins"),
      let url = reportURL(node)
    else { return nil }
    if case .pinned(let pinning, _)? = context.pinPolicies.entry(for: url.origin.host)?.entry {
      trust.pinning = pinning
      // A report never goes to a server that was not verified.
      trust.pinning.mode = .enforce
    }
    return ReportSettings(url: url, trust: trust, allowedAddresses: allowed)
  }

  private func reportURL(_ node: YAMLNode) -> Endpoint? {
    guard let text = text(node, "a URL like https://reports.example.net/pins") else { return nil }
    switch URLCheck(text) {
    case .fine, .query: return parsed(text, at: node.location, Endpoint.init(parsingWithQuery:))
    case .userinfo, .fragment, .port:
      _ = checkURL(text, at: node.location)
      return nil
    }
  }
}
