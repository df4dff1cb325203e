internal import Audit
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Primitives
internal import Providers
package import Proxy
internal import Secrets
internal import Settings
internal import Generations
package import StatusModel
internal import System

/// Collects the status and the metrics of the daemon.
package struct StatusReport {
  private let worker: Worker
  private let counts: WorkerCounts
  private let now = Clock.now.seconds
  private let vitals = ProcessVitals()

  package init(of worker: Worker, _ counts: WorkerCounts) {
    self.worker = worker
    self.counts = counts
  }

  private var generation: Generation { worker.providers.generation }

  package var status: DaemonStatus {
    var status = DaemonStatus()
    status.version = ProgramVersion.text
    status.now = Int(now)
    status.milliseconds = worker.loop.now
    status.started = worker.lifetime.startedAt
    status.workers = worker.sharedState.workers
    status.configuration.file = generation.settings.file
    status.configuration.generation = generation.snapshot.generation
    status.configuration.loaded = worker.lifetime.loadedAt
    status.configuration.lastReload = worker.lifetime.lastReload
    status.process.residentBytes = vitals.residentBytes
    status.process.openFiles = vitals.openDescriptors
    status.process.mostFiles = vitals.descriptorLimit
    status.process.logLinesDropped = counts.droppedLines
    status.audit = worker.log.audit.map { audit($0.status) }
    status.connections = counts.connections.reduce(0, +)
    status.workerConnections = counts.connections.map { UInt64($0) }
    status.loops = counts.loops
    status.listeners = (worker.acceptor?.listeners ?? []).map { bound in
      var listener = DaemonStatus.Listener()
      (listener.name, listener.accepted) = (bound.name, bound.accepted)
      listener.addresses = bound.boundAddresses.map(\.text)
      return listener
    }
    status.bounds = Histogram.bounds
    let rates = Dictionary(grouping: generation.limits.rates.all, by: \.service)
    status.services = zip(generation.snapshot.rules.services, counts.services).enumerated().map { index, pair in
      let (service, row) = pair
      return .init(
        service, at: service.mountPoint, listener: generation.settings.listeners[service.listener].name,
        version: row.version, row.counts,
        rates: generation.limits.lock { (rates[index] ?? []).map { .init($0, at: worker.loop.now) } }, time: time)
    }
    let breakers = Dictionary(grouping: generation.limits.breakers, by: \.credential)
    status.credentials = generation.settings.credentials.indices.map { index in
      credential(index, breakers[counts.credentials[index].name] ?? [])
    }
    status.pools = counts.pools
    status.expiries = Expiries.all(of: worker, counts, now: now)
    status.unplaced = counts.unplaced[.requests]
    if generation.settings.reports != nil {
      var reports = DaemonStatus.Reports()
      reports.sent = counts.reports.sent
      reports.failed = counts.reports.failed
      reports.suppressed = counts.reports.suppressed
      status.reports = reports
    }
    status.recentRefusals = counts.recent.map { .init($0, time: time) }
    return status
  }

  package var metrics: DaemonMetrics {
    var metrics = DaemonMetrics(status)
    metrics.services = zip(generation.snapshot.rules.services, counts.services).map { service, row in
      (row.name, service.rules?.count ?? 0, row.counts)
    }
    metrics.unplaced = counts.unplaced
    let grants = Dictionary(generation.snapshot.rules.grants.enumerated().map { ($1.name, $0) }) { first, _ in first }
    metrics.breakers = generation.limits.breakers.map { breaker in
      let isSuspended = grants[breaker.credential].map { self.isSuspended(breaker, grant: $0) } ?? false
      return (breaker.credential, breaker.origin.description, isSuspended, breaker.state.suspensions)
    }
    metrics.processorMicroseconds = vitals.processorMicroseconds
    return metrics
  }

  private func audit(_ status: AuditWriter.Status) -> DaemonStatus.Audit {
    var audit = DaemonStatus.Audit()
    (audit.file, audit.device, audit.inode) = (status.path, status.device, status.inode)
    (audit.records, audit.head, audit.dropped) = (status.count, status.head.description, status.dropped)
    (audit.problem, audit.refusing) = (status.problem, worker.log.auditProblem)
    return audit
  }

  private func credential(_ index: Int, _ breakers: [OriginBreaker]) -> DaemonStatus.Credential {
    let (tally, keyring, settings) = (
      counts.credentials[index], generation.keyring, generation.settings.credentials[index]
    )
    let token = worker.providers.tokens?.status(ofGrant: index)
    let changed = keyring.changedAt(ofGrant: index)
    var status = DaemonStatus.Credential()
    status.name = tally.name
    status.kind = settings.kind
    status.available = tally.isAvailable
    status.loggedOut = keyring.isLoggedOut(grant: index) || token?.loggedOut != nil
    status.problem = tally.problem
    status.generation = keyring.secretVersion(ofGrant: index)
    status.changed = changed == 0 ? nil : Int(changed)
    status.age = changed == 0 ? nil : Int(now - changed)
    status.expires = worker.expiry(ofGrant: index).map { Int($0) }
    status.fingerprint = keyring.fingerprint(ofGrant: index)
    status.sources = settings.allSources.map(source)
    status.cookies = worker.sharedState.jars.count(of: tally.name).map { .some($0) }
    status.token = token?.report
    (status.accepted, status.lastAccepted) = (tally.accepted.count, tally.accepted.last.map(time))
    (status.rejected, status.lastRejected) = (tally.rejected.count, tally.rejected.last.map(time))
    status.suspended = breakers.filter { isSuspended($0, grant: index) }.map { breaker in
      var suspension = DaemonStatus.Suspension()
      suspension.upstream = breaker.origin.description
      suspension.rejections = Int(breaker.state.rejections)
      suspension.seconds = Int((breaker.wait(at: worker.loop.now) ?? 0) / 1_000)
      return suspension
    }
    return status
  }

  private func isSuspended(_ breaker: OriginBreaker, grant: Int) -> Bool {
    breaker.isSuspended(breaker.value(in: generation.keyring, ofGrant: grant))
  }

  private func source(_ source: SecretSource) -> DaemonStatus.Source {
    var status = DaemonStatus.Source()
    status.source = source.summary
    if let command = source.command {
      status.expires = .some(generation.keyring.commandOutputs.expiry(of: command).map { Int($0) })
    }
    if case .file = source {
      status.modified = .some(generation.keyring.fileContents.modified(source).map { Int($0) })
    }
    return status
  }

  /// Converts a time of the event loop's clock to seconds since 1970.
  private func time(_ milliseconds: UInt64) -> Int {
    Int(now - Int64((worker.loop.now &- milliseconds) / 1_000))
  }
}
