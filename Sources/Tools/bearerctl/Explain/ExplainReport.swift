internal import Console
internal import Gateway
internal import HTTP1
internal import Policy
internal import Settings
internal import System

/// The output of `bearerctl explain`: the results of all checks of a request, and the decision.
struct ExplainReport {
  let method: String
  let authority: String
  let host: String
  /// The origin of the web page that sends the request; `nil` if there is none.
  let origin: PageOrigin?
  let target: String
  let caller: Caller
  /// The systemd unit of the caller; `nil` if unknown.
  let unit: String?
  let listener: ListenerSettings
  let settings: DaemonSettings
  let terminal: Terminal

  func text(_ explanation: Explanation, _ gates: ExplainedGates) -> String {
    var rows = [
      Row("listener", ["\(listener.name), at \(listener.addressList)"]),
      Row("caller", [callerDescription]),
    ]
    if !listener.clients.isEmpty {
      let client = explanation.caller?.client.map { "\($0), by its token" }
      rows.append(Row("client", [client ?? "none: the request has no known client token"]))
    }
    if let page = explanation.page { rows.append(Row("page", ["\(page.harmless), listed under browsers"])) }
    if !explanation.path.isEmpty { rows.append(Row("path", [explanation.path])) }
    if let index = service(of: explanation) {
      let service = settings.rules.services[index]
      rows.append(Row("service", ["\(service.name), for \(service.upstream.origin)\(text(service.upstream.basePath))"]))
      let file = settings.file(ofService: index)
      let rules = RuleLines(service: service, verdicts: explanation.rules, file: file, terminal: terminal)
      rows.append(Row("rules", rules.lines))
    }
    if explanation.refusal == nil, let route = explanation.route { rows += outgoing(route, explanation, gates) }
    let refused = explanation.refusal.map { verdict($0, path: explanation.path, explanation.fault) }
    let end = refused ?? decision(explanation, gates)
    let other = gates.otherDecision.map {
      terminal.warning("The running daemon has not loaded the changed file, and decides differently: \($0.words).")
        + "\n"
    }
    return start + rows.map(shown).joined() + "\n" + end + (other ?? "")
  }

  func malformed(_ error: MessageError) -> String {
    start + verdict(.malformed(error.reason), path: "", error.fault) + "Reason: \(error.reason.rawValue).\n"
  }

  private struct Row {
    let label: String
    let lines: [String]
    init(_ label: String, _ lines: [String]) {
      self.label = label
      self.lines = lines
    }
  }

  private var start: String {
    terminal.bold("\(method.harmless) http://\(authority.harmless)\(masked(target).harmless)") + "\n\n"
  }

  private func shown(_ row: Row) -> String {
    let lines = row.lines.isEmpty ? ["nothing"] : row.lines
    return lines.enumerated()
      .map { "  \(terminal.dim(($0 == 0 ? row.label : "").padded(to: 10)))  \($1)\n" }.joined()
  }

  private var callerDescription: String {
    guard let uid = caller.uid else { return "no user: the request comes over the network" }
    return "\(Users.name(ofUID: uid) ?? "unknown") (uid \(uid))" + (unit.map { ", in \($0)" } ?? "")
  }

  private func outgoing(_ route: Route, _ explanation: Explanation, _ gates: ExplainedGates) -> [Row] {
    func lines(_ wanted: RequestGate...) -> [String] {
      wanted.flatMap { gates.lines(of: $0) }.map { $0.refuses ? terminal.bad($0.text) : $0.text }
    }
    let service = settings.rules.services[route.service]
    let line = text(explanation.upstreamHead.prefix { $0 != 13 }).split(separator: " ")
    var target = line.count > 1 ? String(line[1]) : ""
    let parameters = scheme(of: explanation)?.maskedParameters ?? []
    if !parameters.isEmpty { target += (target.contains("?") ? "&" : "?") + parameters.joined(separator: "&") }
    let credential: [String]
    switch route.credential {
    case .inject(let index) where explanation.grant != nil:
      credential =
        self.credential(settings.credentials[index], explanation.grant)
        + lines(.login, .value, .token, .secret, .suspension)
    case .inject: credential = ["none added, because the caller sends its own (on_client_header: keep)"]
    case .none: credential = ["none added, and any credential of the caller is removed"]
    case .pass: credential = ["the caller's own, unchanged"]
    }
    let removed = explanation.notes.removedParameters.map { "\($0.harmless) (query parameter)" }
    let upgrade = explanation.upgrade.map { [Row("upgrade", ["to \($0.text), if the upstream agrees"])] } ?? []
    let closing =
      "closed after the response: if the upstream does not read this body, it could take the body for a request"
    let connection = explanation.closesUpstream ? [Row("connection", [closing])] : []
    let request = "\(line.first ?? "") \(service.upstream.origin)\(masked(target))"
    let version = explanation.version.map { [Row("HTTP", [$0.text] + gates.versionLines(for: $0))] } ?? []
    return [Row("upstream", [request] + dialed(service.upstream))] + version + upgrade + connection
      + [Row("pins", pins(of: service))] + optional("revocation", revocation(of: service))
      + rate(of: route, lines(.rate)) + optional("retry", retries(of: service, explanation))
      + optional("requests", lines(.concurrency)) + optional("audit", lines(.audit)) + [
        Row("credential", credential), Row("removed", explanation.notes.removed.map(\.harmless) + removed),
        Row("added", added(explanation)),
      ] + (explanation.grant.map { cookies($0, service) + [Row("redact", [redaction(of: service)])] } ?? [])
  }

  private func cookies(_ grant: Grant, _ service: Service) -> [Row] {
    guard case .jar = service.options.cookies else { return [] }
    return [Row("cookies", ["jar of credential \(grant.name) for \(service.upstream.origin)"])]
  }

  private func optional(_ label: String, _ lines: [String]) -> [Row] { lines.isEmpty ? [] : [Row(label, lines)] }

  private func rate(of route: Route, _ left: [String]) -> [Row] {
    let limit = settings.rules.rateLimit(service: route.service, rule: route.rule)
    guard let rate = limit.rate else { return [] }
    let owner = limit.rule.map { "rule \($0 + 1)" } ?? "the service"
    return [Row("rate", ["\(rate) of \(owner), for each caller"] + left)]
  }

  private func retries(of service: Service, _ explanation: Explanation) -> [String] {
    guard let policy = service.retry else { return [] }
    if explanation.upgrade != nil { return ["never, because this request upgrades its connection"] }
    let limit = "\(counted(policy.attempts, "more attempt")) within \(time(policy.atMost))"
    let statuses = policy.listed.map(String.init).joined(separator: ", ")
    guard Method(method.utf8.span).isIdempotent else {
      return ["up to \(limit), only if no connection can be opened: \(method.harmless) may act twice"]
    }
    return ["up to \(limit) after \(statuses), or if the connection fails before the response"]
  }

  private func time(_ milliseconds: UInt64) -> String {
    milliseconds < 1_000 ? "\(milliseconds) ms" : "\(Age(Int(clamping: milliseconds / 1_000)))"
  }

  private func redaction(of service: Service) -> String {
    switch service.options.redact {
    case .off: "off: nothing is masked in the response"
    case .headers: "headers: the credential is masked in the header fields and trailers of the response"
    case .errors: "errors: the credential is masked in header fields and trailers, and in the body of an error"
    case .all: "all: the credential is masked in the whole response, which bearerd requests uncompressed"
    }
  }

  private func dialed(_ upstream: Upstream) -> [String] {
    guard let host = upstream.dialHost else { return [] }
    return [
      "bearerd connects to \(host):\(upstream.origin.port), and verifies \(upstream.origin.host) (by server_name)"
    ]
  }

  private func pins(of service: Service) -> [String] {
    let pinning = service.trust.pinning
    let authorities = service.trust.caFile.map { "the authorities in \($0)" } ?? "the system's authorities"
    if service.upstream.origin.scheme == .http { return ["plain http to this machine: nothing is verified"] }
    guard !pinning.pins.isEmpty else { return ["none: any certificate from \(authorities) is accepted"] }
    let mode =
      switch pinning.mode {
      case .enforce: "enforced: nothing is sent to a server without one of these keys"
      case .report: "report only: a mismatch is logged, and the request is sent"
      }
    let policy = pinning.policy.map { ["from the policy of \($0), in pin_policies"] } ?? []
    return pinning.pins.map(\.description) + policy + [mode, "chain and name are also verified, by \(authorities)"]
  }

  private func revocation(of service: Service) -> [String] {
    guard let policy = service.trust.revocation else { return [] }
    let lists = policy.listFile.map { "a list in \($0) must cover the server's certificate" }
    let stapling =
      switch policy.stapling {
      case nil: nil as String?
      case .use: "an OCSP response of the server is used. It is required only if the certificate says so"
      case .require: "an OCSP response of the server is required"
      }
    return [lists, stapling].compactMap { $0 }
  }

  private func credential(_ credential: CredentialSettings, _ grant: Grant?) -> [String] {
    let sources = credential.sources.map(\.summary)
    return ["\(credential.name)" + (sources.first.map { ", from \($0)" } ?? "")]
      + sources.dropFirst().map { "and \($0)" }
      + (credential.certificate.map { ["with the client certificate \($0.file), if the server asks for one"] } ?? [])
      + (grant?.authRetryLines ?? [])
      + (credential.suspension.map { [text($0)] } ?? [])
  }

  private func text(_ suspension: Suspension) -> String {
    "would be suspended for \(time(suspension.time)) after \(counted(suspension.after, "rejection")) in a row"
  }

  /// Returns lines with the header fields that bearerd would add, with masked credentials.
  private func added(_ explanation: Explanation) -> [String] {
    let written = scheme(of: explanation)?.maskedFields ?? []
    let own = Set(written.map { $0.name.lowercased() })
    let set = explanation.notes.added.filter { !own.contains($0.lowercased()) }
    let redactsAll =
      explanation.grant != nil && explanation.route.map { settings.rules.services[$0.service].options.redact } == .all
    let limited =
      explanation.notes.limitsCodings ? ["Accept-Encoding: only codings that can be searched (by redact: errors)"] : []
    let others = set.map { name in
      // set_headers cannot set Via, and with redact: all it cannot set Accept-Encoding.
      if name == "Via" { return "Via (by via: true)" }
      if redactsAll, name == "Accept-Encoding" { return "Accept-Encoding: identity (by redact: all)" }
      return "\(name) (by set_headers)"
    }
    return limited + others + written.map { "\($0.name): \($0.value)" }
  }

  private func decision(_ explanation: Explanation, _ gates: ExplainedGates) -> String {
    if explanation.isPreflight {
      return terminal.good("bearerd would respond itself: the page may send this request.") + "\n"
    }
    if explanation.isFinalRecipient {
      return terminal.good("bearerd would respond itself: Max-Forwards does not let the request go further.") + "\n"
    }
    if explanation.isDiscovery {
      return terminal.good("bearerd would respond itself, with the services that the caller may use.") + "\n"
    }
    guard explanation.route != nil else {
      return terminal.good("bearerd would respond itself, with its metrics.") + "\n"
    }
    if let row = gates.refusal?.row {
      return terminal.bad("The request would be refused now: \(row.status) \(row.code).") + "\n"
    }
    let unknown =
      gates.unknown.map { wrapped("No daemon with this file could be asked, and only the daemon knows \($0).") + "\n" }
      ?? ""
    guard let source = gates.missingSource else { return terminal.good("The request would be sent.") + "\n" + unknown }
    return terminal.warning("The request would be sent, but its secret is missing:") + "\n"
      + wrapped("\(source). Until the daemon finds the secret, requests get 503.") + "\n" + unknown
  }

  private func verdict(_ refusal: Refusal, path: String, _ fault: MessageFault) -> String {
    let row = refusal.row
    let remedy = Remedy(
      settings: settings, listener: listener, caller: caller, method: method, host: host, origin: origin, path: path)
    let help = remedy.text(refusal).map { $0 + "\n" } ?? ""
    let position = fault.isEmpty ? "" : "Position: \(fault).\n"
    return terminal.bad("Refused: \(row.status) \(row.code).") + "\n"
      + wrapped("\(row.title.description.split(separator: ". ")[0]).") + "\n" + position + help
  }

  private func scheme(of explanation: Explanation) -> AuthScheme? {
    settings.credentials.first { $0.name == explanation.grant?.name }?.scheme
  }

  private func service(of explanation: Explanation) -> Int? {
    if let route = explanation.route { return route.service }
    guard case .policy(let refusal) = explanation.refusal else { return nil }
    return refusal.location?.service
  }

  private func masked(_ text: String) -> String {
    String(decoding: ClientToken.masked(Array(text.utf8).span), as: UTF8.self)
  }

  private func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self).harmless }
}
