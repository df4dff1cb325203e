internal import Configuration
package import EventLoop
internal import Gateway
package import Log
package import Providers
package import Setup
internal import System
internal import Transport

/// One loop and everything that it touches. Nothing here is shared with another thread but what `sharedState` and the generation's
/// `limits` count, which see to that themselves, and what never changes.
package final class Worker {
  let context: WorkerContext
  package let providers: CredentialProviders
  package let sharedState: SharedState
  /// The configuration that is in use. The providers have it as well. It is also kept here because each event reads it.
  private(set) var generation: Generation
  private(set) var limits: Limits
  let deferredRelease: DeferredRelease
  let sessions: WorkerSessions
  private let buffers: ExchangePool
  /// Accepts connections. `nil` if another thread does, which knows this worker by its link.
  package private(set) var acceptor: Acceptor?
  /// `true` while accepting is paused because the connection limit is reached.
  var isFull = false
  /// Number of connections for which there are descriptors.
  var affordableConnections = Int.max
  /// The link by which the first worker knows this one. `nil` if this is the first worker.
  let link: WorkerLink?
  /// All workers. `nil` if they are not known here.
  package private(set) weak var workerGroup: WorkerGroup?
  /// The number of this turn of the loop.
  private(set) var turn: UInt64 = 1
  var callerUnits = CallerUnits()
  package var lifetime = Lifetime()
  var stalls = Stalls()
  /// Renders the response to a scrape.
  package var metricsText: (WorkerCounts) -> [UInt8] = { _ in [] }
  /// The counts of all workers while a scrape is answered. `nil` if there is one worker.
  var allCounts: WorkerCounts?
  /// Writes the log once more where its reader was too slow.
  private var flushAgain: Timer?
  /// Milliseconds until lines are written that found no room.
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
    providers = CredentialProviders(context: context, generation: generation, jars: sharedState.jars, link: link)
    (self.generation, limits, self.deferredRelease) = (generation, generation.settings.limits, deferredRelease)
    sessions = WorkerSessions(flood: context.heap.flood())
    buffers = ExchangePool(flood: context.heap.flood())
    context.heap.giveBack = { [buffers] in
      buffers.clear()
      Heap.giveBack()
    }
    context.onDescriptorShortage = { [unowned self] in makeRoom() }
    limitUpstreams()
    flushAgain = Timer(loop: loop) { [unowned self] in flushLog() }
    loop.onStall = { [unowned self] in stalled($0) }
    loop.onTurnEnd = { [unowned self] in
      turn &+= 1
      sessions.turnEnded()
      if isFull { acceptor?.resumeIfPossible() }
      flushLog()
    }
  }

  package var loop: Loop { context.loop }
  var deadlines: DeadlineQueue { context.deadlines }
  package var log: EventLog { context.log }
  var connectionLimit: Int { min(limits.connections, affordableConnections) }

  // MARK: connections

  /// Connections come from here now.
  /// - Parameter affordable: how many there are descriptors for.
  package func listen(on slots: [BoundListener], of acceptor: Acceptor, affordable: Int) {
    self.acceptor = acceptor
    acceptor.listen(on: slots)
    affordableConnections = affordable
  }

  package var isDraining: Bool { sessions.isDraining }

  /// Called when a draining worker has no session left.
  package var onDrained: (() -> Void)? {
    get { sessions.onDrained }
    set { sessions.onDrained = newValue }
  }

  /// Makes the other workers known here.
  package func join(_ group: WorkerGroup) {
    workerGroup = group
    providers.tellOthers = { [weak group] message in group?.tell { message($0.providers) } }
  }

  func take(_ stream: EventLoop.Stream, at listener: ListenerID) {
    let peer = Peer(of: stream, diagnostics: context.diagnostics)
    let (quota, connections) = sharedState.quotas.add(quotaHolder(of: peer, at: listener))
    let share = limits.connections(of: quota.holder, outOf: connectionLimit)
    guard connections <= share || peer.isByNetwork && endOldestUnproven() else {
      return refuse(stream, of: quota, share: share)
    }
    let session = ClientSession(stream: stream, listener: listener, peer: peer, quota: quota, worker: self)
    sessions.add(session, isUnproven: quota.holder == .strangers)
    gateScrapes(of: session)
  }

  func ended(_ session: ClientSession) {
    sessions.remove(session)
    sharedState.quotas.remove(session.client.quota)
    connectionEnded()
    sessions.reportIfDrained()
  }

  func acquireSlot() -> ExchangeSlot { buffers.acquire() ?? ExchangeSlot(limits: generation.snapshot.headLimits) }
  func release(_ slot: consuming ExchangeSlot) { buffers.release(slot) }
  func borrowOutput() -> EventOutput { buffers.borrowOutput() }
  func giveBack(_ buffer: consuming EventOutput) { buffers.giveBack(buffer) }

  private func flushLog() {
    if log.flush() {
      flushDelay = Self.firstFlushDelay
    } else {
      // A reader that is gone is not waited for twenty times a second.
      flushAgain?.start(after: flushDelay)
      flushDelay = min(2 * flushDelay, Self.longestFlushDelay)
    }
  }

  // MARK: generations

  /// Makes a generation current: what was not authorised yet is decided anew; what was may finish, for a while if it would no
  /// longer be allowed.
  func adopt(_ new: Generation) {
    let old = generation
    providers.adopt(new)
    (generation, limits) = (new, new.settings.limits)
    limitUpstreams()
    for pool in old.upstreamPools { pool.retire() }
    var revoked: [ClientSession] = []
    for session in Array(sessions.values) {
      if !session.configurationChanged() { revoked.append(session) }
      gateScrapes(of: session)
    }
    guard !revoked.isEmpty else { return }
    log.event(.revoked, ("exchanges", String(revoked.count)))
    let grace = new.settings.limits.revokedGrace
    deadlines.schedule(RevokedSessions(revoked), at: loop.now + grace)
  }

  private func limitUpstreams() {
    context.limitIdleConnections(
      to: isDraining ? 0 : context.share(of: limits.idlePerIdentity), time: limits.upstreamIdle)
    context.keepalive = TCPKeepalive(limits.keepalive)
  }

  // MARK: the end

  /// No new connections, no new requests; what runs may finish.
  package func drain() {
    sessions.isDraining = true
    limitUpstreams()
    acceptor?.closeListeners()
    for pool in generation.upstreamPools { pool.retire() }
    sessions.drain()
  }

  /// Whatever still runs is cut.
  package func close() {
    acceptor?.close()
    for session in Array(sessions.values) { session.cut() }
    for pool in generation.upstreamPools { pool.retire() }
    context.close()
    flushAgain?.close()
    loop.onTurnEnd = nil
    loop.onStall = nil
    providers.close()
    deferredRelease.close()
    reportSuppressed()
    log.flush()
  }
}
