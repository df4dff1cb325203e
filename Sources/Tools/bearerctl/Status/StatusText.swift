internal import Console
internal import Gateway
internal import Policy
internal import StatusModel
struct StatusText: CustomStringConvertible {
  let status: DaemonStatus
  let terminal: Terminal

  var description: String {
    [head, listeners, services, credentials, pools, expiries, refusals].filter { !$0.isEmpty }.joined(separator: "\n")
  }

  private var head: String {
    let configuration = status.configuration
    let workers = status.workers > 1 ? " at \(status.workers) workers" : ""
    var text = """
      bearerd \(status.version.harmless), up \(Age(status.now - status.started)); \
      \(counted(status.connections, "connection"))\(workers); \(sizeText(status.process.residentBytes)) of memory
      configuration \(configuration.file.harmless), generation \(configuration.generation), \
      in use for \(Age(status.now - configuration.loaded))

      """
    if let reload = configuration.lastReload, let problem = reload.problem {
      text += terminal.bad("the last reload failed") + " \(ago(reload.at)): \(problem.harmless)\n"
    }
    if status.process.logLinesDropped > 0 {
      text += terminal.warning("the log lost \(counted(status.process.logLinesDropped, "line"))") + "\n"
    }
    return text + audit
  }

  private var audit: String {
    guard let audit = status.audit else { return "" }
    var text =
      "audit \(audit.file.harmless), \(counted(audit.records, "record")), head \(audit.head.harmless)\n"
    if let problem = audit.problem ?? audit.refusing {
      text += terminal.bad("the audit file cannot be written") + ": \(problem.harmless)\n"
    }
    if audit.refusing != nil { text += terminal.bad("requests get 503 until the audit file can be written") + "\n" }
    if audit.dropped > 0 {
      text += terminal.warning("\(counted(audit.dropped, "audit record")) lost") + "\n"
    }
    return text
  }

  private var listeners: String {
    table(
      "listener",
      status.listeners.map { listener in
        [
          listener.name, listener.addresses.joined(separator: " "),
          counted(listener.accepted, "connection") + " so far",
        ]
      })
  }

  private var services: String {
    table(
      "service",
      status.services.map { service in
        [
          service.name, service.at, service.upstream, service.versionText, pins(service),
          counted(service.requests, "request"), "\(service.refusals) refused", last(service),
        ]
      }) + status.services.map(requiredVersion).joined() + status.services.map(spentRates).joined()
      + status.services.map(failedProbe).joined()
  }

  private func requiredVersion(_ service: DaemonStatus.Service) -> String {
    guard service.cause == .required else { return "" }
    return "  \(terminal.warning(service.name.harmless)): the upstream requires HTTP/1.1 (HTTP_1_1_REQUIRED), "
      + "so bearerd uses it until the next reload\n"
  }

  /// Returns a line for each caller that has used up a rate of the service or of its rules.
  private func spentRates(_ service: DaemonStatus.Service) -> String {
    service.rates.flatMap { rate in
      rate.callers.filter { $0.left == 0 }.map { caller in
        "  \(terminal.bad(service.name)): \(caller.name) has used up the rate \(rate.text), "
          + "next request in \(Age(milliseconds: caller.milliseconds))\n"
      }
    }.joined()
  }

  private func failedProbe(_ service: DaemonStatus.Service) -> String {
    guard let probe = service.probe, let failure = probe.failure else { return "" }
    return "  \(terminal.bad(service.name)): the last probe failed \(ago(probe.at)): \(failure.harmless)\n"
  }

  private func pins(_ service: DaemonStatus.Service) -> String {
    if service.pins == 0 { return "no pins" }
    let matched = service.matchedPin.map { ", matched \($0.prefix(15))…" } ?? ""
    return counted(service.pins, "pin") + (service.pinMode == "enforce" ? "" : ", \(service.pinMode) only") + matched
  }

  private func last(_ service: DaemonStatus.Service) -> String {
    guard let code = service.lastStatus else { return "" }
    let failed = service.lastFailure.map { "failed \(ago($0))" }
    let worked = service.lastSuccess.map { "worked \(ago($0))" }
    return (["last \(code)"] + [worked, failed].compactMap(\.self)).joined(separator: ", ")
  }

  private var credentials: String {
    let rows = status.credentials.map { credential in
      [
        credential.name, state(credential), credential.fingerprint ?? "-",
        "generation \(credential.generation)",
        credential.changed.map { "for \(Age(status.now - $0))" + left(credential) } ?? "",
        (credential.kind.isEmpty ? "" : "\(credential.kind) from ")
          + credential.sources.map { source($0) }.joined(separator: ", "),
        usage(credential),
      ]
    }
    let problems = status.credentials.compactMap { credential in
      credential.problem.map { "  \(terminal.bad(credential.name)): \($0.harmless)\n" }
    }
    let failures = status.credentials.compactMap { failure($0) } + status.credentials.compactMap { pause($0) }
    let suspensions = status.credentials.flatMap { credential in
      credential.suspended.map { "  \(terminal.bad(credential.name)): \(suspension($0))\n" }
    }
    return table("credential", rows) + (problems + failures + suspensions).joined()
  }

  private func state(_ credential: DaemonStatus.Credential) -> String {
    if credential.loggedOut { return "logged out" }
    if credential.token?.loginRequired == true, !credential.available { return "login required" }
    if credential.token?.atNextRequest == true, credential.available { return "renewed at the next request" }
    return credential.available ? "in use" : "missing"
  }

  /// Returns a line about the last failed token request; `nil` if there is none to show.
  private func failure(_ credential: DaemonStatus.Credential) -> String? {
    guard let token = credential.token, let failed = token.lastFailed, let sentence = token.lastFailure,
      credential.problem?.hasPrefix(sentence) != true
    else { return nil }
    let since = token.lastGranted.map { " (last token \(ago($0)))" } ?? ""
    return "  \(terminal.warning(credential.name)): token request failed \(ago(failed))\(since): \(sentence.harmless)\n"
  }

  /// Returns a line about the next token request; `nil` if none is planned.
  private func pause(_ credential: DaemonStatus.Credential) -> String? {
    guard let token = credential.token, let seconds = token.nextAttemptIn else { return nil }
    let failures = token.failuresInARow > 0 ? ", after \(counted(token.failuresInARow, "failure")) in a row" : ""
    return "  \(terminal.warning(credential.name)): next token request in \(Age(seconds))\(failures)\n"
  }

  private func left(_ credential: DaemonStatus.Credential) -> String {
    credential.token?.secondsLeft.map { ", valid for \(Age($0))" } ?? ""
  }

  private func suspension(_ suspension: DaemonStatus.Suspension) -> String {
    let next =
      suspension.seconds > 0
      ? "in \(Age(suspension.seconds)), one request tests it" : "the next request tests it"
    let rejections = counted(suspension.rejections, "rejection")
    return "suspended at \(suspension.upstream.harmless) after \(rejections) in a row; \(next)"
  }

  private func source(_ source: DaemonStatus.Source) -> String {
    let written = (source.modified ?? nil).map { " (written \(ago($0)))" } ?? ""
    return source.source + written
      + ((source.expires ?? nil).map { ", expires in \(Age(max(0, $0 - status.now)))" } ?? "")
  }

  private func usage(_ credential: DaemonStatus.Credential) -> String {
    let accepted = credential.lastAccepted.map { "accepted \(ago($0))" }
    let rejected = credential.lastRejected.map { "rejected \(ago($0)) (\(credential.rejected) in total)" }
    let uses = [accepted, rejected].compactMap(\.self)
    let cookies = (credential.cookies ?? nil).map { ["\(counted($0, "cookie")) in its jar"] } ?? []
    return ((uses.isEmpty ? ["not used yet"] : uses) + cookies).joined(separator: ", ")
  }

  private var pools: String {
    table(
      "upstream",
      status.pools.map { pool in
        [
          pool.upstream, pool.credential.isEmpty ? "no credential" : pool.credential, pool.versionText,
          "\(pool.idle) idle", "\(pool.active) active", pool.streams.map { counted($0, "stream") } ?? "",
        ]
      })
  }

  /// Lists what expires soon, as the log does.
  private var expiries: String {
    table(
      "expires",
      status.expiries.filter { $0.notice(at: status.now) != nil }.sorted { $0.at < $1.at }.map { expiry in
        [
          expiry.name, expiry.what.text,
          expiry.at <= status.now ? "expired \(ago(expiry.at))" : "in \(Age(expiry.at - status.now))",
        ]
      })
  }

  private var refusals: String {
    table(
      "refused",
      status.recentRefusals.map { refusal in
        [ago(refusal.at), refusal.service ?? "no service", refusal.code, "bearerctl errors \(refusal.code)"]
      })
  }

  private func ago(_ time: Int) -> String { "\(Age(status.now - time)) ago" }

  private func table(_ heading: String, _ rows: [[String]]) -> String {
    guard let first = rows.first else { return "" }
    let rows = rows.map { $0.map(\.harmless) }
    let widths = first.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.map { row in
      let cells = zip(row, widths).filter { $1 > 0 }.map { $0.padded(to: $1) }.joined(separator: "  ")
      return "  " + String(cells.reversed().drop { $0 == " " }.reversed()) + "\n"
    }
    return terminal.dim(heading) + "\n" + lines.joined()
  }
}

extension DaemonStatus.Service {
  fileprivate var cause: NegotiatedVersion.Cause? { httpCause.flatMap(NegotiatedVersion.Cause.init) }

  /// The HTTP version of the last connection, and why if the upstream could have had HTTP/2. Empty if there was none.
  fileprivate var versionText: String {
    guard let httpVersion else { return "" }
    let reason =
      switch cause {
      case .selected where httpVersion != ApplicationProtocol.http2.version: " by ALPN"
      case .notSelected: ", no ALPN"
      case .required: ", required"
      case nil, .configured, .selected: ""
      }
    return "HTTP/\(httpVersion)\(reason)"
  }
}

extension DaemonStatus.Pool {
  /// The HTTP version. Empty if the daemon does not say it.
  var versionText: String { httpVersion.isEmpty ? "" : "HTTP/\(httpVersion)" }
}

extension DaemonStatus.Rate {
  /// The rate as text, such as `60/m` or `60/m of rule 2`.
  var text: String { rate.harmless + (rule.map { " of rule \($0)" } ?? "") }
}

extension DaemonStatus.Expiry.Kind {
  fileprivate var text: String {
    switch self {
    case .pins: "pins"
    case .upstreamCertificate: "certificate of the upstream"
    case .clientCertificate: "client certificate"
    case .caFile: "certificate authority"
    }
  }
}

extension DaemonStatus.Caller {
  var name: String {
    [uid.map { "uid \($0)" }, client.map { "client \($0.harmless)" }].compactMap(\.self).joined(separator: ", ")
  }
}

/// A duration as text: `12 s`, `4 min`, `2 h 13 min`, `5 d`.
struct Age: CustomStringConvertible {
  let description: String

  init(milliseconds: UInt64) { self.init(Int(clamping: milliseconds / 1_000 + (milliseconds % 1_000 == 0 ? 0 : 1))) }

  init(_ seconds: Int) {
    let seconds = max(0, seconds)
    description =
      switch seconds {
      case ..<60: "\(seconds) s"
      case ..<3_600: "\(seconds / 60) min"
      case ..<86_400: "\(seconds / 3_600) h" + (seconds % 3_600 < 60 ? "" : " \(seconds % 3_600 / 60) min")
      default: "\(seconds / 86_400) d"
      }
  }
}

/// Returns a number of bytes as text: `812 KiB`, `17 MiB`.
func sizeText(_ bytes: UInt64) -> String { bytes < 10 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB" }
