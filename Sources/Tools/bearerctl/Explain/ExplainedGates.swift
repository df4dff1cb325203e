internal import Console
internal import Gateway
internal import Policy
internal import Settings
internal import Loading
internal import StatusModel

/// The states of a request's gates, from the running daemon or from the configuration file.
struct ExplainedGates {
  /// The daemon's response, if it made the same decision as the configuration file; otherwise `nil`.
  private let daemon: ExplainResult?
  /// The daemon's response, if it made another decision than the configuration file; otherwise `nil`.
  let otherDecision: ExplainResult?
  /// The states as far as the configuration file shows them; `nil` if the rules refuse the request.
  private let file: GateStates?

  private static let timeout: UInt64 = 2

  init(_ request: ExplainRequest, _ explanation: Explanation, of loaded: LoadedConfiguration) {
    file = Self.states(of: explanation, loaded)
    let explained = Self.daemonResult(of: request, loaded)
    let isSame = explained.map { $0.agrees(with: explanation, loaded.settings.rules) } ?? false
    (daemon, otherDecision) = isSame ? (explained, nil) : (nil, explained)
  }

  /// Asks the daemon to explain the request; `nil` if no daemon with this configuration responds.
  private static func daemonResult(of request: ExplainRequest, _ loaded: LoadedConfiguration) -> ExplainResult? {
    guard let client = ControlClient(of: loaded),
      case .ok(let text)? = try? client.send("explain \(request.text)", seconds: timeout),
      let result = try? client.decode(text) as ExplainResult,
      // A daemon at the default socket may have another file.
      loaded.settings.controlSocket != nil || result.file == loaded.file
    else { return nil }
    return result
  }

  private static func states(of explanation: Explanation, _ loaded: LoadedConfiguration) -> GateStates? {
    guard explanation.refusal == nil, let route = explanation.route else { return nil }
    var states = GateStates(hasCredential: explanation.grant != nil)
    let (settings, rules) = (loaded.settings, loaded.settings.rules)
    let credential = settings.credentials.first { $0.name == explanation.grant?.name }
    (states[.concurrency], states[.login]) = (.unknown, .unknown)
    if settings.audit?.isRequired == true { states[.audit] = .unknown }
    if credential?.allSources.contains(where: { if case .token = $0 { true } else { false } }) == true {
      states[.token] = .unknown
    }
    if credential?.suspension != nil { states[.suspension] = .unknown }
    if rules.rateLimit(service: route.service, rule: route.rule).rate != nil { states[.rate] = .unknown }
    if let source = credential?.allSources.map({ SourceStatus($0, silent: loaded.silent) }).first(where: \.isMissing) {
      states[.secret] = .closed(.noSecret(source.description), nil)
    }
    return states
  }

  /// The code with which the daemon would refuse the request now; `nil` if there is none or it is unknown.
  var refusal: RefusalCode? {
    daemon?.refusedNow.flatMap { code in RefusalCode.allCases.first { $0.row.code.description == code } }
  }

  /// The description of a missing secret source; `nil` if none is missing, or if a daemon made the same decision.
  var missingSource: String? {
    guard daemon == nil, let obstacle = file?.obstacle, case .noSecret = obstacle else { return nil }
    return obstacle.detail
  }

  /// The facts that only a daemon knows, separated by commas; `nil` if there are none or a daemon responded.
  var unknown: String? {
    guard daemon == nil, otherDecision == nil, let file, !file.unknown.isEmpty else { return nil }
    return file.unknown.map(\.words).joined(separator: ", ")
  }

  /// Returns what the daemon knows about the upstream's HTTP version.
  func versionLines(for choice: VersionChoice) -> [String] {
    guard choice == .ofUpstream, let version = daemon?.httpVersion ?? nil,
      let sentence = (daemon?.httpCause ?? nil).flatMap(NegotiatedVersion.Cause.init)?.sentence(version.harmless)
    else { return [] }
    return [sentence]
  }

  /// Returns the output lines for a gate, each with whether the gate refuses the request.
  func lines(of gate: RequestGate) -> [(text: String, refuses: Bool)] {
    (daemon?.gates ?? []).filter { $0.gate == gate.rawValue }.compactMap { report in
      report.text.map { ($0, report.refuses) }
    }
  }
}

extension ExplainResult {
  /// Whether the daemon made the same decision as the configuration file.
  func agrees(with explanation: Explanation, _ rules: RuleSet) -> Bool {
    refusal == explanation.refusal?.row.code.description && credential == explanation.grant?.name
      && service == explanation.route.map { rules.services[$0.service].name }
      && rule == explanation.route?.rule.map { $0 + 1 }
  }

  var words: String {
    if let refusal { return "refused, \(refusal.harmless)" }
    let rule = rule.map { ", rule \($0)" } ?? ""
    return
      "service \((service ?? "none").harmless)\(rule), \(credential.map { "credential \($0.harmless)" } ?? "no credential")"
  }
}

extension ExplainResult.Gate {
  var refuses: Bool { state != "open" && state != "awaited" }

  /// The line about the gate in the output; `nil` if the gate needs no line.
  fileprivate var text: String? {
    let reason = (detail ?? nil)?.harmless ?? ""
    switch RequestGate(rawValue: gate) {
    case .audit where refuses: return "required, and cannot be written now: \(reason)"
    case .concurrency where refuses: return "the caller already has the maximum number of open requests"
    case .login where refuses, .token where refuses, .secret where refuses: return reason
    case .value where state == "awaited": return "no value yet: the request would wait for it"
    case .suspension: return (rejections ?? nil).map { suspension($0) }
    case .rate:
      guard let left = left ?? nil, let milliseconds = milliseconds ?? nil else { return nil }
      return refuses ? "none left now, next request in \(Age(milliseconds: milliseconds))" : "\(left) left now"
    default: return nil
    }
  }

  private func suspension(_ rejections: Int) -> String {
    let reason = "this upstream rejected the credential \(counted(rejections, "time")) in a row"
    return refuses
      ? "suspended now, for another \(Age(Int(clamping: ((milliseconds ?? nil) ?? 0) / 1_000))): \(reason)"
      : "one request may try again now: \(reason)"
  }
}

extension RequestGate {
  fileprivate var words: String {
    switch self {
    case .audit: "whether the audit file can be written"
    case .concurrency: "how many requests are open"
    case .login: "whether the credential was logged out"
    case .value, .secret: "whether the credential has a value"
    case .token: "whether there is a token"
    case .suspension: "whether the credential is suspended"
    case .rate: "how much of the rate is left"
    }
  }
}
