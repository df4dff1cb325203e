internal import Policy
internal import Settings

/// Converts the tree of a configuration into settings, and adds errors to `report`.
struct SettingsReader {
  let report: Report
  let environment: ConfigurationReader.Environment
  let file: String
  let named = NamedFiles()
  let combined = CombinedCredentials()

  /// Reads the whole configuration, and returns `nil` after errors.
  func settings(_ root: YAMLNode) -> DaemonSettings? {
    guard let top = fields(root, at: TextLocation(line: 1, column: 1), of: TopKey.self) else { return nil }
    let listeners = listeners(top)
    let credentials = credentials(top)
    let timeouts =
      top[.timeouts].map { self.timeouts($0, at: top.location(of: .timeouts), over: Timeouts()) } ?? Timeouts()
    var services = services(
      top, SurroundingSettings(listeners: listeners, credentials: credentials, timeouts: timeouts))
    let allCredentials = credentials + combined.drafts(of: credentials)
    let limits = top[.limits].map { self.limits($0, at: top.location(of: .limits)) } ?? Limits()
    let isLocked = top[.requireLockedMemory].flatMap { boolean($0) } ?? false
    let control = top[.control].flatMap { controlSocket($0) }
    let audit = top[.audit].flatMap { self.audit($0, at: top.location(of: .audit)) }
    let workers = top[.workers].flatMap { self.workers($0) } ?? .fixed(TopKey.workersDefault)
    let used = Set(services.map(\.service.listener))
    let metrics = metrics(top, beside: listeners)
    let allListeners = addServiceListeners(listeners, &services) + (metrics.map { [$0] } ?? [])
    check(services, listeners: allListeners, credentials: allCredentials)
    checkNamedFiles()
    guard report.errorCount == 0 else { return nil }
    checkClientCertificates(credentials)
    guard report.errorCount == 0 else { return nil }

    for index in services.indices {
      services[index].service = services[index].service.removingParameters(setBy: allCredentials)
    }
    let rules = RuleSet(services: services.map(\.service), grants: allCredentials.map(\.grant))
    check(rules, of: services)
    if !services.isEmpty { check(listeners, used: used) }
    advise(listeners: listeners + (metrics.map { [$0] } ?? []), credentials: credentials, services: services)
    adviseOnCookies(services, listeners: allListeners)
    return DaemonSettings(
      file: file, included: Array(report.paths.dropFirst()), serviceFiles: services.map(\.location.file),
      listeners: allListeners.map(\.settings), credentials: allCredentials.compactMap(\.settings),
      rules: rules,
      limits: limits, requireLockedMemory: isLocked, controlSocket: control,
      metricsListener: metrics == nil ? nil : allListeners.count - 1, audit: audit, workers: workers)
  }

  /// Reads the control socket's path from the tree of a file with errors.
  func controlSocket(in root: YAMLNode) -> String? {
    let quiet = SettingsReader(report: Report(file: file, text: []), environment: environment, file: file)
    let top = quiet.fields(root, at: TextLocation(line: 1, column: 1), of: TopKey.self)
    return top?[.control].flatMap { quiet.controlSocket($0) }
  }

  private func controlSocket(_ node: YAMLNode) -> String? {
    if let text = node.text, text.hasPrefix("unix:") {
      report.error(
        node.location, "the path begins with \"unix:\": expected only the path of the socket",
        help: "write control: \(quoted(String(text.dropFirst("unix:".count))))")
      return nil
    }
    guard let path = path(node, "the path of a socket") else { return nil }
    guard path.utf8.count <= Self.longestSocketPath else {
      report.error(
        node.location,
        "the path has \(path.utf8.count) bytes: the path of a socket can have at most \(Self.longestSocketPath)")
      return nil
    }
    // The daemon can start without this socket.
    if let problem = environment.socketProblem(path) {
      report.warning(node.location, problem.message, help: problem.help)
    }
    return path
  }

  /// Maximum length of a socket's path in bytes (unix(7)).
  static let longestSocketPath = 107

  /// Reads a path, and makes it absolute.
  func path(_ node: YAMLNode, _ wanted: String) -> String? {
    guard var text = text(node, wanted) else { return nil }
    if text.hasPrefix("/") { return text }
    if text.hasPrefix("~") {
      report.error(
        node.location, "bearerd does not expand ~ in paths",
        help: "write an absolute path, or a path relative to this file")
      return nil
    }
    while text.hasPrefix("./") { text.removeFirst(2) }
    let directory = directory(of: report.path(ofFile: node.location.file))
    return directory == "/" ? "/" + text : directory + "/" + text
  }

  func directory(of file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }
}

/// The settings that a service may refer to.
struct SurroundingSettings {
  let listeners: [ListenerDraft]
  let credentials: [CredentialDraft]
  let timeouts: Timeouts
}
