internal import Configuration
internal import Console
// For Decodable and JSONDecoder: bearerctl has this much of Foundation already, by ArgumentParser.
internal import FoundationEssentials
internal import Gateway
internal import Policy
internal import Setup

/// The gates of a request that the rules let go: as a running daemon says they stand, or as far as the file alone can tell.
struct ExplainedGates {
  /// The answer of a daemon that decides as the file does; nil: there is none.
  private let daemon: DaemonAnswer?
  /// How a daemon decides that has not read the file as it is now; nil: there is no such daemon.
  let otherDecision: DaemonAnswer?
  private let file: GateReports

  private static let patience: UInt64 = 2

  init(_ request: ExplainRequest, _ explanation: Explanation, of loaded: LoadedConfiguration) {
    file = GateReports(explanation) { Self.report(on: $0, $1, explanation, loaded) }
    let answer = DaemonAnswer(to: request, of: loaded, seconds: Self.patience)
    let isSame = answer.map { $0.agrees(with: explanation, loaded.settings.rules) } ?? false
    (daemon, otherDecision) = isSame ? (answer, nil) : (nil, answer)
  }

  /// The file's word on a gate.
  private static func report(
    on gate: RequestGate, _ route: Route, _ explanation: Explanation, _ loaded: LoadedConfiguration
  ) -> GateReport {
    let (settings, rules) = (loaded.settings, loaded.settings.rules)
    let credential = settings.credentials.first { $0.name == explanation.grant?.name }
    var isUnknown: Bool {
      switch gate {
      case .audit: settings.audit?.isRequired == true
      case .concurrency, .login: true
      case .value, .secret: false
      case .token: credential?.allSources.contains { $0.isFetched } ?? false
      case .suspension: credential?.suspension != nil
      case .rate: rules.rateLimit(service: route.service, rule: route.rule).rate != nil
      }
    }
    if gate == .secret,
      let source = credential?.allSources.map({ SourceStatus($0, silent: loaded.silent) }).first(where: \.isMissing)
    {
      return GateReport(gate, .closed(.noSecret(source.description)))
    }
    return GateReport(gate, isUnknown ? .unknown : .open)
  }

  /// Why the daemon would refuse the request now.
  var refusal: RefusalCode? {
    daemon?.refusedNow.flatMap { code in RefusalCode.allCases.first { $0.row.code.description == code } }
  }

  /// The source that the credential lacks, where no daemon says whether it has a value; nil: none is missing.
  var missingSource: String? {
    guard daemon == nil, file.refusal == .credentialUnavailable else { return nil }
    for case .closed(let obstacle) in file.all.map(\.fact) { return obstacle.detail }
    return nil
  }

  /// Facts that only a running daemon knows, in words; nil: one was asked, or there is nothing of that kind.
  var unknown: String? {
    guard daemon == nil, otherDecision == nil, !file.unknown.isEmpty else { return nil }
    return file.unknown.map(\.words).joined(separator: ", ")
  }

  // MARK: rows

  /// Lines about some gates, and whether each is a refusal; empty where no daemon was asked.
  func lines(of gates: RequestGate...) -> [(text: String, refuses: Bool)] {
    (daemon?.gates ?? []).compactMap { gate in
      guard gates.contains(where: { $0.rawValue == gate.gate }), let text = gate.text else { return nil }
      return (text, gate.refuses)
    }
  }
}

/// A running daemon's answer to `explain`.
struct DaemonAnswer: Decodable {
  struct Gate: Decodable {
    let gate: String
    let state: String
    let detail: String?
    let left: UInt64?
    let rejections: Int?
    let milliseconds: UInt64?
  }

  let file: String
  let refusal: String?
  let service: String?
  let rule: Int?
  let credential: String?
  let refusedNow: String?
  let gates: [Gate]

  /// nil: no daemon answers that runs with this file.
  init?(to request: ExplainRequest, of loaded: LoadedConfiguration, seconds: UInt64) {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let client = ControlClient(of: loaded),
      case .ok(let text)? = try? client.ask("explain \(request.text)", seconds: seconds),
      let answer = try? decoder.decode(DaemonAnswer.self, from: Data(text.utf8)),
      // The usual place is that of whichever daemon this user runs.
      loaded.settings.controlSocket != nil || answer.file == loaded.file
    else { return nil }
    self = answer
  }

  func agrees(with explanation: Explanation, _ rules: RuleSet) -> Bool {
    refusal == explanation.refusal?.row.code.description && credential == explanation.grant?.name
      && service == explanation.route.map { rules.services[$0.service].name }
      && rule == explanation.route?.rule.map { $0 + 1 }
  }

  /// The decision in words.
  var words: String {
    if let refusal { return "refused, \(refusal.harmless)" }
    let rule = rule.map { ", rule \($0)" } ?? ""
    return
      "service \((service ?? "none").harmless)\(rule), \(credential.map { "credential \($0.harmless)" } ?? "no credential")"
  }
}

extension DaemonAnswer.Gate {
  var refuses: Bool { state != "open" && state != "awaited" }

  /// nil: there is nothing to say of it.
  fileprivate var text: String? {
    let reason = detail?.harmless ?? ""
    switch RequestGate(rawValue: gate) {
    case .audit where refuses: return "required, and cannot be written now: \(reason)"
    case .concurrency where refuses: return "the caller already has the maximum number of open requests"
    case .login where refuses, .token where refuses, .secret where refuses: return reason
    case .value where state == "awaited": return "no value yet: the request would wait for it"
    case .suspension: return rejections.map { suspension($0) }
    case .rate:
      guard let left, let milliseconds else { return nil }
      return refuses ? "none left now, next request in \(Age(milliseconds: milliseconds))" : "\(left) left now"
    default: return nil
    }
  }

  private func suspension(_ rejections: Int) -> String {
    let reason = "this upstream rejected the credential \(counted(rejections, "time")) in a row"
    return refuses
      ? "suspended now, for another \(Age(Int(clamping: (milliseconds ?? 0) / 1_000))): \(reason)"
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

extension CredentialSettings.Source {
  /// An endpoint gives it.
  fileprivate var isFetched: Bool {
    switch self {
    case .token, .login: true
    case .file, .systemd, .env, .command, .userOfCommand: false
    }
  }
}
