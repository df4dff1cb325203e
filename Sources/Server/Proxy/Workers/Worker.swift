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
  private var revision: Revision
  let sessions: WorkerSessions
  private let buffers: ExchangePool
  var listening = Listening()
  private var siblings: Siblings
  /// The number of this turn of the loop.
  private(set) var turn: UInt64 = 1
  var callerUnits = CallerUnits()
  package var reporting = Reporting()
  /// Writes the log once more where its reader was too slow.
  private var flushAgain: Timer?

  /// The configuration that is in use. The providers have it, too; the way there is long, and each event asks.
  private struct Revision {
    var generation: Generation
    var limits: Limits
    let deferredRelease: DeferredRelease
  }

  /// How connections come in, and how many there may be.
  struct Listening {
    /// Accepts connections; nil: another thread does, which knows this worker by its link.
    var acceptor: Acceptor?
    /// Whether accepting is paused, since there are as many connections as there may be.
    var isFull = false
    /// How many connections there are descriptors for.
    var affordable = Int.max
  }

  /// The other workers.
  private struct Siblings {
    /// How the first worker knows this one; nil: this is the first one.
    let link: WorkerLink?
    /// All others; nil: they are not known here.
    weak var group: WorkerGroup?
  }

  /// State of this worker for status, metrics and the log.
  package struct Reporting {
    package var lifetime = Lifetime()
    package var scrapes = Scrapes()
    var stalls = Stalls()
  }

  /// How scrapes are answered, which ask this worker.
  package struct Scrapes {
    package var text: (WorkerCounts) -> [UInt8] = { _ in [] }
    /// The counts of all workers, while a scrape is answered; nil: there is one worker.
    var allCounts: WorkerCounts?
  }

  package init(
    loop: Loop, journal: EventLog, sharedState: SharedState, generation: Generation, deferredRelease: DeferredRelease,
    link: WorkerLink? = nil
  ) {
    siblings = Siblings(link: link)
    self.sharedState = sharedState
    context = WorkerContext(loop: loop, journal: journal, workers: sharedState.workers)
    providers = CredentialProviders(context: context, generation: generation, jars: sharedState.jars, link: link)
    revision = Revision(generation: generation, limits: generation.settings.limits, deferredRelease: deferredRelease)
    sessions = WorkerSessions(flood: context.heap.flood())
    buffers = ExchangePool(flood: context.heap.flood())
    context.heap.giveBack = { [buffers] in
      buffers.clear()
      Heap.giveBack()
    }
    context.onDescriptorShortage = { [unowned self] in makeRoom() }
    limitIdleConnections()
    flushAgain = Timer(loop: loop) { [unowned self] in flushJournal() }
    loop.onStall = { [unowned self] in stalled($0) }
    loop.onTurnEnd = { [unowned self] in
      turn &+= 1
      sessions.turnEnded()
      if listening.isFull { acceptor?.resumeIfPossible() }
      flushJournal()
    }
  }

  var generation: Generation { revision.generation }
  var limits: Limits { revision.limits }
  var deferredRelease: DeferredRelease { revision.deferredRelease }
  package var loop: Loop { context.loop }
  var deadlines: DeadlineQueue { context.deadlines }
  package var journal: EventLog { context.journal }
  var connectionLimit: Int { min(limits.connections, listening.affordable) }

  // MARK: connections

  /// Connections come from here now.
  /// - Parameter affordable: how many there are descriptors for.
  package func listen(on slots: [BoundListener], of acceptor: Acceptor, affordable: Int) {
    listening.acceptor = acceptor
    acceptor.listen(on: slots)
    listening.affordable = affordable
  }

  package var isDraining: Bool { sessions.isDraining }

  /// Called when a draining worker has no session left.
  package var onDrained: (() -> Void)? {
    get { sessions.onDrained }
    set { sessions.onDrained = newValue }
  }

  package var acceptor: Acceptor? { listening.acceptor }
  var link: WorkerLink? { siblings.link }
  package var workerGroup: WorkerGroup? { siblings.group }

  /// Makes the other workers known here.
  package func join(_ group: WorkerGroup) {
    siblings.group = group
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

  private func flushJournal() {
    if !journal.flush() { flushAgain?.start(after: 50) }
  }

  // MARK: generations

  /// Makes a generation current: what was not authorised yet is decided anew; what was may finish, for a while if it would no
  /// longer be allowed.
  func adopt(_ new: Generation) {
    let old = generation
    providers.adopt(new)
    (revision.generation, revision.limits) = (new, new.settings.limits)
    limitIdleConnections()
    for destination in old.allDestinations { destination.retire() }
    var revoked: [ClientSession] = []
    for session in Array(sessions.values) {
      if !session.configurationChanged() { revoked.append(session) }
      gateScrapes(of: session)
    }
    guard !revoked.isEmpty else { return }
    journal.event(.revoked, ("exchanges", String(revoked.count)))
    let grace = new.settings.limits.revokedGrace
    deadlines.schedule(RevokedSessions(revoked), at: loop.now + grace)
  }

  private func limitIdleConnections() {
    context.limitIdleConnections(
      to: isDraining ? 0 : context.share(of: limits.idlePerIdentity), time: limits.upstreamIdle)
  }

  // MARK: the end

  /// No new connections, no new requests; what runs may finish.
  package func drain() {
    sessions.isDraining = true
    limitIdleConnections()
    acceptor?.closeListeners()
    for destination in generation.allDestinations { destination.retire() }
    sessions.drain()
  }

  /// Whatever still runs is cut.
  package func close() {
    acceptor?.close()
    for session in Array(sessions.values) { session.cut() }
    for destination in generation.allDestinations { destination.retire() }
    context.close()
    flushAgain?.close()
    loop.onTurnEnd = nil
    loop.onStall = nil
    providers.close()
    deferredRelease.close()
    reportSuppressed()
    journal.flush()
  }
}
