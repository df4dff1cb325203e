internal import Audit
internal import Credentials
internal import Gateway
internal import Log
internal import Policy
internal import Primitives
internal import Providers
package import Proxy
internal import Generations
internal import Loading
internal import System

/// The metrics in Prometheus text format.
package struct MetricsReport {
  private let worker: Worker
  private let counts: WorkerCounts
  private var text = Exposition()

  package static func bytes(of worker: Worker, _ counts: WorkerCounts) -> [UInt8] {
    var report = MetricsReport(worker: worker, counts: counts)
    report.requests()
    report.upstreams()
    report.connections()
    report.credentials()
    report.configuration()
    report.loops()
    report.process()
    return report.text.bytes
  }

  private init(worker: Worker, counts: WorkerCounts) {
    self.worker = worker
    self.counts = counts
  }

  private var generation: Generation { worker.providers.generation }
  private var services: [Service] { generation.snapshot.rules.services }
  private var tallies: [WorkerCounts.ServiceRow] { counts.services }

  // MARK: requests

  private mutating func requests() {
    let classes = (1...ServiceCounts.statusClasses).map { "\($0)xx" }
    text.begin(.requests)
    for (service, tally) in zip(services, tallies) {
      for row in 0...(service.rules?.count ?? 0) {
        for (index, name) in classes.enumerated() {
          let rule = row == 0 ? "none" : String(row)
          text.sample(
            [("service", service.name), ("rule", rule), ("status", name)],
            tally.counts.requests(row: row, statusClass: index))
        }
      }
    }
    for (index, name) in classes.enumerated() {
      text.sample(
        [("service", ""), ("rule", "none"), ("status", name)],
        counts.unplaced.requests(row: 0, statusClass: index))
    }
    text.begin(.refusals)
    for tally in tallies + [WorkerCounts.ServiceRow(name: "", counts: counts.unplaced)] {
      for code in RefusalCode.allCases {
        let count = tally.counts.refusals(code)
        guard count > 0 || code.isAlwaysShown(withService: !tally.name.isEmpty) else { continue }
        text.sample([("service", tally.name), ("code", code.row.code.description)], count)
      }
    }
    perService(.requestBodyBytes, \.bytesUp)
    perService(.responseBodyBytes, \.bytesDown)
    perService(.retries, \.retries)
    perService(.redactions, \.redactions)
  }

  private mutating func perService(_ metric: Metric, _ value: KeyPath<ServiceCounts, UInt64>) {
    text.begin(metric)
    for tally in tallies { text.sample([("service", tally.name)], tally.counts[keyPath: value]) }
  }

  // MARK: upstreams

  private mutating func upstreams() {
    times(.connectSeconds, \.connect)
    times(.handshakeSeconds, \.handshake)
    times(.responseHeadSeconds, \.responseHead)
    text.begin(.handshakes)
    for tally in tallies {
      text.sample([("service", tally.name), ("type", "full")], tally.counts.fullHandshakes)
      text.sample([("service", tally.name), ("type", "resumed")], tally.counts.resumedHandshakes)
    }
    text.begin(.pinResults)
    for (service, tally) in zip(services, tallies) where !service.trust.pinning.pins.isEmpty {
      text.sample([("service", tally.name), ("result", "matched")], tally.counts.pinsMatched)
      text.sample([("service", tally.name), ("result", "mismatched")], tally.counts.pinsMismatched)
      text.sample([("service", tally.name), ("result", "reported")], tally.counts.pinsReported)
    }
    text.begin(.upstreamConnections)
    for pool in counts.pools {
      let labels = [("upstream", pool.upstream), ("credential", pool.credential)]
      text.sample(labels + [("state", "idle")], UInt64(pool.idle))
      text.sample(labels + [("state", "active")], UInt64(pool.active))
    }
  }

  private mutating func times(_ metric: Metric, _ histogram: KeyPath<ServiceCounts, Histogram>) {
    text.begin(metric)
    for tally in tallies { text.sample([("service", tally.name)], tally.counts[keyPath: histogram]) }
  }

  // MARK: the rest

  private mutating func connections() {
    text.begin(.clientConnections)
    text.sample(UInt64(counts.connections.reduce(0, +)))
    text.begin(.acceptedConnections)
    for bound in worker.acceptor?.listeners ?? [] { text.sample([("listener", bound.name)], bound.accepted) }
  }

  private mutating func credentials() {
    let keyring = generation.keyring
    let names = generation.snapshot.rules.grants.map(\.name)
    func each(_ write: (Exposition.Labels, Int) -> Void) {
      for (index, name) in names.enumerated() { write([("credential", name)], index) }
    }
    text.begin(.credentialAvailable)
    each { text.sample($0, counts.credentials[$1].isAvailable ? 1 : 0) }
    text.begin(.credentialGeneration)
    each { text.sample($0, keyring.secretVersion(ofGrant: $1)) }
    text.begin(.credentialChanged)
    each { labels, index in
      let changed = keyring.changedAt(ofGrant: index)
      if changed > 0 { text.sample(labels, UInt64(changed)) }
    }
    text.begin(.credentialAccepted)
    each { text.sample($0, counts.credentials[$1].accepted.count) }
    text.begin(.credentialRejected)
    each { text.sample($0, counts.credentials[$1].rejected.count) }
    tokens(names)
    suspensions()
  }

  private mutating func tokens(_ names: [String]) {
    let all = names.indices.compactMap { index in
      worker.providers.tokens?.status(ofGrant: index).map { (labels: [("credential", names[index])], status: $0) }
    }
    if all.isEmpty { return }
    text.begin(.tokenRequests)
    for (labels, status) in all {
      text.sample(labels + [("result", "granted")], status.granted)
      text.sample(labels + [("result", "failed")], status.failed)
    }
    text.begin(.tokenUsable)
    for (labels, status) in all {
      if let seconds = status.secondsLeft { text.sample(labels, seconds) }
    }
    text.begin(.loginRequired)
    for (labels, status) in all { text.sample(labels, status.isLoginRequired ? 1 : 0) }
  }

  private mutating func suspensions() {
    let breakers = generation.limits.breakers.map { breaker in
      (labels: [("credential", breaker.credential), ("upstream", breaker.origin.description)], breaker: breaker)
    }
    text.begin(.credentialSuspended)
    for (labels, breaker) in breakers {
      let index = generation.snapshot.rules.grants.firstIndex { $0.name == breaker.credential }
      let isSuspended = index.map { breaker.isSuspended(breaker.value(in: generation.keyring, ofGrant: $0)) } ?? false
      text.sample(labels, isSuspended ? 1 : 0)
    }
    text.begin(.suspensions)
    for (labels, breaker) in breakers { text.sample(labels, breaker.state.suspensions) }
  }

  private mutating func configuration() {
    let lifetime = worker.lifetime
    text.begin(.buildInfo)
    text.sample([("version", ProgramVersion.text)], 1)
    text.begin(.configurationGeneration)
    text.sample(generation.snapshot.generation)
    text.begin(.configurationLoaded)
    text.sample(UInt64(max(0, lifetime.loadedAt)))
    text.begin(.lastReloadSuccessful)
    text.sample(lifetime.lastReload?.problem == nil ? 1 : 0)
    text.begin(.logLinesDropped)
    text.sample(counts.droppedLines)
    audit()
  }

  private mutating func audit() {
    guard let status = worker.log.audit?.status else { return }
    text.begin(.auditRecords)
    text.sample(status.count)
    text.begin(.auditRecordsDropped)
    text.sample(status.dropped)
    text.begin(.auditWorking)
    text.sample(status.problem == nil ? 1 : 0)
  }

  private mutating func loops() {
    text.begin(.loopTurns)
    text.sample(counts.loops.reduce(0) { $0 &+ $1.turns })
    text.begin(.loopStalls)
    text.sample(counts.loops.reduce(0) { $0 &+ $1.stalls })
    text.begin(.longestTurn)
    text.sample(microseconds: counts.loops.map(\.longestTurn).max() ?? 0)
    text.begin(.oldestWaiting)
    text.sample(microseconds: (counts.loops.compactMap(\.oldestRequest).max() ?? 0) &* 1_000)
  }

  private mutating func process() {
    let vitals = ProcessVitals()
    text.begin(.residentMemory)
    text.sample(vitals.residentBytes)
    text.begin(.openDescriptors)
    text.sample(vitals.openDescriptors)
    text.begin(.maxDescriptors)
    text.sample(vitals.descriptorLimit)
    text.begin(.cpuSeconds)
    text.sample(microseconds: vitals.processorMicroseconds)
    text.begin(.startTime)
    text.sample(UInt64(max(0, worker.lifetime.startedAt)))
  }
}

extension RefusalCode {
  /// Whether to report the number of refusals even if it is 0.
  /// - Parameter withService: `false` for requests that belong to no service.
  fileprivate func isAlwaysShown(withService: Bool) -> Bool {
    switch refuser {
    case .parser, .admission: !withService
    case .rules, .bearerd: true
    case .keyring, .connector, .upstream: withService
    }
  }
}

extension Exposition {
  fileprivate mutating func begin(_ metric: Metric) {
    begin(metric.rawValue, metric.kind, metric.help.description)
  }
}
