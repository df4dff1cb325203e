// Called by `RequestRun.record` (`RequestRecord.swift`).
// Calls `EventLog.begin` and `end`, then `EventLog.record` for the audit record.

internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Generations
internal import StatusModel

extension EventLog {
  /// Logs an exchange as one line, also in the audit file if there is one (T48).
  func exchange(_ exchange: inout Exchange, of run: RequestRun) {
    // The line contains names, numbers and the canonical path, but never a field value, a query or a body.
    let (before, generation) = (bufferedBytes, run.generation)
    let level = exchange.record.isOrdinary ? LogLevel.info : .warning
    guard var line = begin(level, isRecord: hasAudit) else { return }
    if let route = exchange.record.route {
      let routeContext = run.routeContext ?? generation.routeContext(of: route)
      line.raw(routeContext.logText)
      if let index = run.grant {
        line.raw(routeContext.credentialText)
        line.raw(generation.keyring.secretVersion(ofGrant: index))
      }
    } else {
      line.field("event", LogEvent.request.rawValue)
      if let (service, rule) = exchange.record.serviceAndRule {
        line.field("service", exchange.decision.snapshot?.rules.services[service].name ?? "-")
        if let rule { line.field("rule", rule + 1) }
      } else if let sought = exchange.record.requestedService {
        line.field("service", exchange.decision.snapshot?.rules.services[sought].name ?? "-")
      }
    }
    if let uid = exchange.record.caller?.uid { line.field(keys.uid, UInt64(uid)) }
    if let unit = run.client.unit { line.field("unit", unit) }
    if let client = exchange.record.caller?.client { line.field("client", client) }
    let method = exchange.head.methodRange
    if !method.isEmpty, method.upperBound <= exchange.head.bytes.count {
      write(exchange.head.bytes.span.extracting(method), as: keys.method, to: &line)
    }
    if !exchange.target.path.isEmpty { write(exchange.target.path.span, as: keys.path, to: &line) }
    line.field(keys.status, UInt64(max(0, exchange.record.status)))
    if case .http1 = exchange.record.clientProtocol, case .http1 = exchange.record.upstreamProtocol,
      case .http11 = exchange.head.version
    {
      line.raw(keys.http1Versions)
    } else {
      writeVersions(of: exchange, to: &line)
    }
    if let refusal = exchange.record.refusal { line.field("refused", refusal.row.code.description) }
    line.field(keys.up, exchange.record.bytesUp)
    line.field(keys.down, exchange.record.bytesDown)
    line.field(keys.milliseconds, run.worker.loop.now - run.timing.startedAt)
    let decidedBy = exchange.record.generation
    line.field(keys.generation, decidedBy == 0 ? generation.snapshot.generation : decidedBy)
    if !exchange.record.removed.isEmpty { line.field("removed", exchange.removedNames) }
    if !exchange.record.repairs.isEmpty { line.field("repaired", exchange.record.repairs.description) }
    if !exchange.record.dropped.isEmpty { line.field("dropped", exchange.record.dropped.description) }
    if exchange.record.isPreflight { line.raw(" preflight=true") }
    if exchange.record.isRejected { line.raw(" credential_rejected=true") }
    if exchange.record.redactions > 0 { line.field("redacted", exchange.record.redactions) }
    if exchange.record.isBodyReplaced { line.raw(" withheld=true") }
    if exchange.record.isRetried { line.raw(" retried=true") }
    if exchange.record.retries > 0 { line.field("retries", UInt64(exchange.record.retries)) }
    if exchange.record.isReused { line.raw(" reused=true") }
    if exchange.record.isRenewed { line.raw(" renewed=true") }
    if exchange.record.isAborted { line.raw(" aborted=true") }
    if let refusal = exchange.record.refusal {
      let problem = if case .malformed(let reason) = refusal { reason } else { exchange.record.responseProblem }
      if let problem { line.field("reason", problem.rawValue) }
      let details = [run.attempt.failureDetail, exchange.faultDetail].compactMap { $0?.isEmpty == false ? $0 : nil }
      if !details.isEmpty { line.field("detail", details.joined(separator: "; ")) }
      let help =
        help(with: problem, upstream: upstreamScheme(of: exchange))
        ?? help(
          for: refusal, head: exchange.head, listener: run.client.arrival.listener.flatMap(generation.listener),
          settings: generation.settings)
      if let help { line.field("help", help) }
    }
    end(line)
    if hasAudit { record(from: before, isGuaranteed: run.isRecordPromised) }
  }

  @inline(never)
  private func writeVersions(of exchange: borrowing Exchange, to line: inout LogLine) {
    if case .http2 = exchange.record.clientProtocol {
      line.raw(" http=2")
    } else if !exchange.head.methodRange.isEmpty {
      if case .http10 = exchange.head.version { line.raw(" http=1.0") } else { line.raw(" http=1.1") }
    }
    switch exchange.record.upstreamProtocol {
    case nil: break
    case .http1: line.raw(" upstream_http=1.1")
    case .http2: line.raw(" upstream_http=2")
    }
    if let status = exchange.record.callStatus { line.field("grpc_status", status) }
  }

  /// Writes text that the client sent, and masks client tokens (T6).
  private func write(_ text: Span<UInt8>, as key: LogLine.Key, to line: inout LogLine) {
    if text.count >= ClientToken.length, ClientToken.isIn(text) {
      line.field(key, ClientToken.masked(text).span)
    } else {
      line.field(key, text)
    }
  }

  private func upstreamScheme(of exchange: borrowing Exchange) -> Origin.Scheme? {
    guard let (service, _) = exchange.record.serviceAndRule else { return nil }
    return exchange.decision.snapshot?.rules.services[service].upstream.origin.scheme
  }

  /// Logs that the keyring refused to send a credential.
  func denied(_ denied: AuthorizationError, route: Route?, generation: Generation) {
    let name = route.flatMap { generation.snapshot.rules.grant(of: $0)?.name } ?? "-"
    event(.credentialDenied, ("credential", name), ("detail", denied.description))
  }
}
