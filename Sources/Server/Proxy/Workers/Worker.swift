internal import Configuration
package import EventLoop
internal import Gateway
package import Log
package import Providers
internal import Settings
package import Generations
internal import StatusModel
internal import System
internal import Transport

/// One event loop, and the connections and state that belong to it.
package final class Worker {
  let context: WorkerContext
  package let loop: Loop
  package let log: EventLog
  let deadlines: DeadlineQueue
  package let providers: CredentialProviders
  package let sharedState: SharedState
  /// The configuration in use.
  private(set) var generation: Generation
  private(set) var limits: Limits
  let deferredRelease: DeferredRelease
  let connections: WorkerConnections
  let reports: ReportSender
  private let buffers: ExchangePool
  /// Accepts connections. `nil` for all workers except the first.
  package private(set) var acceptor: Acceptor?
  /// `true` while accepting is paused.
  var isFull = false
  /// Number of connections for which there are enough file descriptors.
  var affordableConnections = Int.max
  /// The main thread's link to this worker. `nil` for the first worker, which runs on the main thread.
  let link: WorkerLink?
  /// The additional workers. `nil` unless this is the first worker.
  package private(set) weak var workerGroup: WorkerGroup?
  /// The number of the current turn of the loop.
  private(set) var turn: UInt64 = 1
  var callerUnits = CallerUnits()
  package var lifetime = Lifetime()
  var stalls = Stalls()
  /// Returns the text of the metrics for these counts.
  package var metricsText: (WorkerCounts) -> [UInt8] = { _ in [] }
  /// The counts of all workers while a request for metrics is served. Otherwise `nil`.
  var allCounts: WorkerCounts?
  /// Starts the next attempt to write buffered log lines.
  private var flushTimer: Timer?
  /// Milliseconds until the next attempt to write buffered log lines.
  private var flushDelay = Worker.firstFlushDelay
  private static let firstFlushDelay: UInt64 = 50
  private static let longestFlushDelay: UInt64 = 1_000

  package init(
    loop: Loop, log: EventLog, sharedState: SharedState, generation: Generation, deferredRelease: DeferredRelease,
    link: WorkerLink? = nil
  ) {
    self.link = link
    self.sharedState = sharedState
    context = WorkerContext(loop: loop, log: log, workers: sharedState.workers)
    (self.loop, self.log, deadlines) = (loop, log, context.deadlines)
    providers = CredentialProviders(context: context, generation: generation, jars: sharedState.jars, link: link)
    (self.generation, limits, self.deferredRelease) = (generation, generation.settings.limits, deferredRelease)
    connections = WorkerConnections(spikes: context.heapTrimmer.makeSpikeDetector())
    buffers = ExchangePool(spikes: context.heapTrimmer.makeSpikeDetector())
    reports = ReportSender(context: context, history: sharedState.reportHistory)
    context.heapTrimmer.releaseMemory = { [unowned self] in releaseMemory() }
    context.onDescriptorShortage = { [unowned self] in freeDescriptors() }
    limitUpstreams()
    reports.update(to: generation)
    providers.onAccountChange = { [unowned self] in cutFormerUses(of: $0) }
    flushTimer = Timer(loop: loop) { [unowned self] in flushLog() }
    loop.onStall = { [unowned self] in stalled($0) }
    loop.onTurnEnd = { [unowned self] in
      turn &+= 1
      connections.turnEnded()
      context.turnEnded()
      if isFull { acceptor?.resumeIfPossible() }
      flushLog()
    }
  }

  var connectionLimit: Int { min(limits.connections, affordableConnections) }

  /// Releases unused memory, on later turns of the loop if there is much (T54).
  private func releaseMemory() {
    guard buffers.release(until: { loop.isStepLong }) else {
      // Not weak: each later retain of an object with weak references is slow.
      return loop.onNextTurn { [self] in releaseMemory() }
    }
    connections.releaseMemory()
    Heap.releaseFreeMemory()
  }

  // MARK: connections

  /// Starts accepting on these listeners.
  /// - Parameter affordable: number of connections for which there are enough file descriptors.
  package func listen(on listeners: [BoundListener], of acceptor: Acceptor, affordable: Int) {
    self.acceptor = acceptor
    acceptor.listen(on: listeners)
    affordableConnections = affordable
  }

  package var isDraining: Bool { connections.isDraining }

  /// Called after `drain`, when no connection is left.
  package var onDrained: (() -> Void)? {
    get { connections.onDrained }
    set { connections.onDrained = newValue }
  }

  package func join(_ group: WorkerGroup) {
    workerGroup = group
    providers.postToOthers = { [weak group] message in group?.post { message($0.providers) } }
  }

  func accept(_ stream: EventLoop.Stream, at listener: ListenerID) {
    let peer = Peer(of: stream, diagnostics: context.diagnostics)
    let (quota, count) = sharedState.quotas.add(quotaHolder(of: peer, at: listener))
    let share = limits.connections(of: quota.holder, outOf: connectionLimit)
    guard count <= share || peer.isNetworkCaller && endOldestUnproven() else {
      return refuse(stream, of: quota, share: share)
    }
    let connection = ClientConnection(stream: stream, listener: listener, peer: peer, quota: quota, worker: self)
    connections.add(connection, isUnproven: quota.holder == .notAdmitted)
    gateScrapes(of: connection)
  }

  func ended(_ connection: ClientConnection) {
    connections.remove(connection)
    sharedState.quotas.remove(connection.quota)
    connectionEnded()
    connections.reportIfDrained()
  }

  func acquireSlot() -> ExchangeSlot { buffers.acquire() ?? ExchangeSlot(limits: generation.snapshot.headLimits) }
  func release(_ slot: consuming ExchangeSlot) { buffers.release(slot) }
  func borrowOutput() -> EventOutput { buffers.borrowOutput() }
  func returnOutput(_ buffer: consuming EventOutput) { buffers.returnOutput(buffer) }

  private func flushLog() {
    if log.flush() {
      flushDelay = Self.firstFlushDelay
    } else {
      // The delay grows, so that a reader that is gone does not cost 20 attempts per second.
      flushTimer?.start(after: flushDelay)
      flushDelay = min(2 * flushDelay, Self.longestFlushDelay)
    }
  }

  // MARK: generations

  /// Makes a generation current. Requests that were not sent yet are decided again.
  func adopt(_ new: Generation) {
    let old = generation
    providers.adopt(new)
    defer { providers.checkAccounts() }
    (generation, limits) = (new, new.settings.limits)
    limitUpstreams()
    reports.update(to: new)
    for pool in old.upstreamPools { pool.retire() }
    // Weak, so that a request that has ended keeps no data and no old secret.
    var cuts: [() -> Void] = []
    for connection in Array(connections.values) {
      for run in connection.configurationChanged() { cuts.append { [weak run] in run?.cutIfNotAllowed() } }
      gateScrapes(of: connection)
    }
    guard !cuts.isEmpty else { return }
    log.event(.revoked, ("exchanges", String(cuts.count)))
    let cut = DeadlineCall { for cut in cuts { cut() } }
    deadlines.schedule(cut, at: loop.now + new.settings.limits.revokedGrace)
  }

  private func limitUpstreams() {
    context.limitIdleConnections(
      to: isDraining ? 0 : context.share(of: limits.idlePerIdentity), time: limits.upstreamIdle)
    context.keepalive = TCPKeepalive(limits.tcpKeepalive)
    context.http2.heads = generation.snapshot.responseLimits
    context.http2.streamWindow = limits.streamWindow
    (context.http2.ping, context.http2.pingTimeout) = (limits.upstreamPing, limits.upstreamPingTimeout)
  }

  // MARK: shutdown

  /// Accepts no new connections and requests. Requests in progress may finish.
  package func drain() {
    connections.isDraining = true
    limitUpstreams()
    acceptor?.closeListeners()
    for pool in generation.upstreamPools { pool.retire() }
    connections.drain()
  }

  /// Ends all requests in progress and closes everything.
  package func close() {
    acceptor?.close()
    for connection in Array(connections.values) { connection.stop() }
    for pool in generation.upstreamPools { pool.retire() }
    reports.close()
    context.close()
    flushTimer?.close()
    loop.onTurnEnd = nil
    loop.onStall = nil
    providers.close()
    deferredRelease.close()
    reportSuppressed()
    log.flush()
  }
}
