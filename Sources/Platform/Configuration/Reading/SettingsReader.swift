internal import Policy
internal import Settings

/// Converts the tree of a configuration into settings: all steps, and the keys of the whole daemon.
struct SettingsReader: SectionReader {
  let context: ReadingContext

  /// Reads the whole configuration, and returns `nil` after errors.
  func settings(_ root: YAMLNode) -> DaemonSettings? {
    guard let top = top(root) else { return nil }
    var context = context
    context.pinPolicies = PinPoliciesReader(context: context).policies(top)
    let listenersReader = ListenersReader(context: context)
    let limitsReader = LimitsReader(context: context)
    let listeners = listenersReader.listeners(top)
    let credentials = CredentialsReader(context: context).credentials(top)
    let timeouts = limitsReader.timeouts(.timeouts, of: top, over: Timeouts())
    let choices = CredentialChoiceReader(context: context, credentials: credentials)
    var services = ServicesReader(context: context, listeners: listeners, credentials: choices, timeouts: timeouts)
      .services(top)
    let allCredentials = credentials + choices.combined.drafts(of: credentials)
    let limits = limitsReader.limits(top)
    let isLocked = boolean(.requireLockedMemory, of: top) ?? false
    let control = top[.control].flatMap { controlSocket($0) }
    let audit = audit(top)
    let reports = ReportsReader(context: context).reports(top)
    let workers = top[.workers].flatMap { self.workers($0) } ?? .fixed(TopKey.workersDefault)
    let used = Set(services.map(\.service.listener))
    let metrics = [listenersReader.metrics(top, beside: listeners)].compactMap(\.self)
    var allListeners = listeners
    allListeners.addListeners(of: &services)
    allListeners += metrics
    CrossChecks(context: context, listeners: allListeners, credentials: allCredentials).check(services)
    FileChecks(context: context).checkNamedFiles()
    guard report.errorCount == 0 else { return nil }
    ClientCertificateChecks(context: context).check(credentials)
    guard report.errorCount == 0 else { return nil }

    for index in services.indices {
      services[index].service = services[index].service.removingParameters(setBy: allCredentials)
    }
    let rules = RuleSet(services: services.map(\.service), grants: allCredentials.map(\.grant))
    let advice = Advice(context: context)
    advice.check(rules, of: services)
    if !services.isEmpty { advice.check(listeners, used: used) }
    advice.advise(listeners: listeners + metrics, credentials: credentials, services: services)
    advice.adviseOnCookies(services, listeners: allListeners)
    let settings = DaemonSettings(
      file: report.path(ofFile: 0), included: Array(report.paths.dropFirst()),
      serviceFiles: services.map(\.location.file),
      listeners: allListeners.map(\.settings), credentials: allCredentials.compactMap(\.settings),
      rules: rules, limits: limits, requireLockedMemory: isLocked, controlSocket: control,
      metricsListener: metrics.isEmpty ? nil : allListeners.count - 1, audit: audit, reports: reports,
      workers: workers)
    PinPoliciesReader(context: context).checkUse(
      top, by: settings.tlsServers.map { ($0.origin.host, $0.trust.pinning) })
    return settings
  }

  /// Reads the control socket's path from the tree of a file with errors.
  func controlSocket(in root: YAMLNode) -> String? {
    let quiet = SettingsReader(
      context: ReadingContext(report: Report(file: report.path(ofFile: 0), text: []), environment: environment))
    return quiet.top(root)?[.control].flatMap { quiet.controlSocket($0) }
  }

  private func top(_ root: YAMLNode) -> Fields<TopKey>? { fields(root, at: TextLocation(line: 1, column: 1)) }

  private func controlSocket(_ node: YAMLNode) -> String? {
    if let text = node.text, text.hasPrefix("unix:") {
      return report.error(
        node.location, "the path begins with \"unix:\": expected only the path of the socket",
        help: "write control: \(quoted(String(text.dropFirst("unix:".count))))")
    }
    guard let path = path(node, "the path of a socket"),
      AddressReader(context: context).checkLength(ofSocketPath: path, at: node.location)
    else { return nil }
    // The daemon can start without this socket.
    if let problem = environment.socketProblem(path) {
      report.warning(node.location, problem.message, help: problem.help)
    }
    return path
  }

  private func audit(_ top: Fields<TopKey>) -> AuditSettings? {
    guard let fields = section(.audit, of: top, as: AuditKey.self) else { return nil }
    let isRequired = boolean(.required, of: fields) ?? false
    guard
      let node = required(
        .file, of: fields, "\"audit\" has no file", help: "add file: /var/log/bearerd/audit.log"),
      let file = path(node, "the path of a file")
    else { return nil }
    if let problem = environment.auditProblem(file) {
      return report.error(node.location, problem.message, help: problem.help)
    }
    return AuditSettings(file: file, isRequired: isRequired)
  }

  private func workers(_ node: YAMLNode) -> WorkerCount? {
    let wanted = "a whole number from 1 to \(WorkerCount.maximum), or auto"
    return converted(node, wanted) { text in
      if text == "auto" { return .eachProcessor }
      return decimal(text).flatMap { TopKey.workers.bounds.contains($0) ? .fixed($0) : nil }
    }
  }
}
