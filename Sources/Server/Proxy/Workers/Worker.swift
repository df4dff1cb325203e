internal import Configuration
internal import Credentials
package import EventLoop
internal import Gateway
package import Log
package import Providers
package import Setup
internal import System
internal import TLS
internal import Transport

/// One loop and everything that it touches. Nothing here is shared with another thread but what `sharedState` and the generation's
/// `limits` count, which see to that themselves, and what never changes.
package final class Worker {
  let context: WorkerContext
  package let providers: CredentialProviders
  package let sharedState: SharedState
  private let connectionFlood: Flood
  /// The providers' current generation, and its limits, at hand: the way there is long, and each event asks.
  private(set) var generation: Generation
  private(set) var limits: Limits
  package var lifetime = Lifetime()
  /// The one output of the machines: lent within a turn, never across. nil: lent.
  private var output: Output? = Output()
  let deferredRelease: DeferredRelease
  /// Sessions that begin something at the end of the turn.
  private var opening: [ClientSession] = []
  private let exchangePool: ExchangePool
  private(set) var sessions: [ObjectIdentifier: ClientSession] = [:]
  /// Connections of strangers, among them those by a network over which no client token has come.
  var unproven = UnprovenSessions()
  /// Of the loop, counted.
  private(set) var turn: UInt64 = 1
  var stalls = Stalls()
  /// Where connections come in.
  private(set) var entrances: [ListenerID] = []
  /// Who accepts them; nil: another thread does, which knows this worker by its link.
  package private(set) var acceptor: Acceptor?
  let link: WorkerLink?
  /// No more of them are accepted just now.
  var isFull = false
  var callerUnits = CallerUnits()
  /// How many connections there are descriptors for.
  private var affordable = Int.max
  package private(set) var isDraining = false
  /// Called when a draining worker has no session left.
  package var onDrained: (() -> Void)?
  private var flushAgain: Timer?
  /// The other workers, if they are known here.
  package weak var workerGroup: WorkerGroup? {
    didSet { providers.tellOthers = { [weak workerGroup] message in workerGroup?.tell { message($0.providers) } } }
  }
  package var scrapes = Scrapes()

  /// How scrapes are answered, which ask this worker.
  package struct Scrapes {
    package var text: (WorkerCounts) -> [UInt8] = { _ in [] }
    /// What all workers have counted, while one is answered; nil: there is one worker.
    var allCounts: WorkerCounts?
  }

  package init(
    loop: Loop, journal: AccessLog, sharedState: SharedState, generation: Generation, deferredRelease: DeferredRelease,
    link: WorkerLink? = nil
  ) {
    self.link = link
    self.deferredRelease = deferredRelease
    self.sharedState = sharedState
    context = WorkerContext(loop: loop, journal: journal, workers: sharedState.workers)
    providers = CredentialProviders(context: context, generation: generation, jars: sharedState.jars, link: link)
    self.generation = generation
    limits = generation.settings.limits
    connectionFlood = context.heap.flood()
    exchangePool = ExchangePool(flood: context.heap.flood())
    context.heap.giveBack = { [exchangePool] in
      exchangePool.clear()
      Heap.giveBack()
    }
    context.onDescriptorShortage = { [unowned self] in makeRoom() }
    limitIdleConnections()
    flushAgain = Timer(loop: loop) { [unowned self] in flushJournal() }
    loop.onStall = { [unowned self] in stalled($0) }
    loop.onTurnEnd = { [unowned self] in
      turn &+= 1
      openWhatWaits()
      if isFull { acceptor?.resumeIfPossible() }
      flushJournal()
    }
  }

  package var loop: Loop { context.loop }
  var deadlines: DeadlineQueue { context.deadlines }
  package var journal: AccessLog { context.journal }
  var connectionLimit: Int { min(limits.connections, affordable) }

  // MARK: connections

  /// Connections come from here now.
  /// - Parameter affordable: how many there are descriptors for.
  package func listen(on slots: [BoundListener], of acceptor: Acceptor, affordable: Int) {
    self.acceptor = acceptor
    acceptor.listen(on: slots)
    listen(at: slots.map(\.listenerID), affordable: affordable)
  }

  /// The same, if another thread accepts them.
  func listen(at entrances: [ListenerID], affordable: Int) {
    self.entrances = entrances
    self.affordable = affordable
  }

  func take(_ stream: EventLoop.Stream, at listenerID: ListenerID) {
    let peer = Peer(of: stream, diagnostics: context.diagnostics)
    let (quota, connections) = sharedState.quotas.add(quotaHolder(of: peer, at: listenerID))
    let share = limits.connections(of: quota.holder, outOf: connectionLimit)
    guard connections <= share || peer.isByNetwork && endOldestUnproven() else {
      return refuse(stream, of: quota, share: share)
    }
    let session = ClientSession(stream: stream, listenerID: listenerID, peer: peer, quota: quota, worker: self)
    sessions[ObjectIdentifier(session)] = session
    if quota.holder == .strangers { unproven.append(session) }
    connectionFlood.rise()
    gateScrapes(of: session)
  }

  /// `turnEnded` is called, once all that this turn has brought is known.
  func openAtTurnEnd(_ session: ClientSession) { opening.append(session) }

  private func openWhatWaits() {
    var index = 0  // what one of them asks for in turn is a request of this turn, too
    while index < opening.count {
      opening[index].turnEnded()
      index += 1
    }
    opening.removeAll(keepingCapacity: true)
  }

  func ended(_ session: ClientSession) {
    sessions[ObjectIdentifier(session)] = nil
    unproven.remove(session)
    connectionFlood.fall()
    sharedState.quotas.remove(session.quota)
    connectionEnded()
    if isDraining, sessions.isEmpty { onDrained?() }
  }

  func acquireSlot() -> ExchangeSlot { exchangePool.acquire() ?? ExchangeSlot(limits: generation.snapshot.headLimits) }
  func release(_ slot: consuming ExchangeSlot) { exchangePool.release(slot) }

  /// Whoever is called while it is lent gets another one.
  func takeOutput() -> Output { output.take() ?? Output() }
  func giveBack(_ output: consuming Output) { self.output = consume output }

  private func flushJournal() {
    if !journal.flush() { flushAgain?.start(after: 50) }
  }

  // MARK: generations

  /// Makes a generation current: what was not authorised yet is decided anew; what was may finish, for a while if it would no
  /// longer be allowed.
  func adopt(_ new: Generation, entrances: [ListenerID]) {
    let old = generation
    providers.adopt(new)
    generation = new
    limits = new.settings.limits
    limitIdleConnections()
    self.entrances = entrances
    for destination in old.allDestinations { destination.retire() }
    var revoked: [ClientSession] = []
    for session in Array(sessions.values) {
      let isOrphan = !entrances.contains { $0 === session.listenerID }
      if !session.configurationChanged(listener: isOrphan ? nil : session.listenerID.index) { revoked.append(session) }
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
    isDraining = true
    limitIdleConnections()
    acceptor?.closeListeners()
    for destination in generation.allDestinations { destination.retire() }
    for session in Array(sessions.values) { session.drain() }
    if sessions.isEmpty { onDrained?() }
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
    tellWhatHadNoLine()
    journal.flush()
  }
}
