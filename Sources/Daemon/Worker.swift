internal import Configuration
internal import EventLoop
internal import Gateway
internal import System
internal import TLS

/// One loop and everything that it touches. Nothing here is shared with another thread.
final class Worker {
  let loop: Loop
  let deadlines: DeadlineQueue
  let resolver: Resolver
  let journal: Journal
  let diagnostics: SocketDiagnostics?
  private let heap: HeapRelief
  private(set) var generation: Generation
  /// Of the current generation, at hand: the way there is long, and each event asks.
  private(set) var limits: Limits
  var lifetime = Lifetime()
  /// The one output of the machines, and the one buffer for plaintext: lent within a turn, never across. nil: lent.
  private var output: Output? = Output()
  private var plaintext: [UInt8]?
  /// Where a missing secret is looked for once more.
  weak var secrets: SecretWatch?
  /// Where a secret is waited for that a program has yet to print.
  weak var commands: SecretCommands?
  /// Sessions that begin something at the end of the turn.
  private var opening: [ClientSession] = []
  private var sessions: [ObjectIdentifier: ClientSession] = [:]
  /// Of the loop, counted.
  private(set) var turn: UInt64 = 1
  var strangers = StrangersInLog()
  var clockSteps = ClockSteps()
  private(set) var listeners: [ListenerSlot] = []
  private var isPaused = false
  /// Accepting failed a moment ago; trying again at once would spin (T56).
  private var mustWait = false
  private var acceptFailureLoggedAt: UInt64?
  private var limitLoggedAt: UInt64?
  var quotas = CallerQuotas()
  var callerUnits = CallerUnits()
  /// As many as there are descriptors for, with another for each connection's upstream.
  private var affordable = Int.max
  private(set) var isDraining = false
  /// Called when a draining worker has no session left.
  var onDrained: (() -> Void)?
  private var flushAgain: Timer?
  private var acceptAgain: Timer?

  /// Milliseconds until accepting is tried again, and between two lines that say why it is not.
  private static let acceptPause: UInt64 = 200
  private static let acceptSilence: UInt64 = 10_000
  /// Descriptors for what is no connection: files of secrets, the control socket, programs that print secrets.
  private static let reserve = 16

  init(loop: Loop, journal: Journal, generation: Generation) {
    self.loop = loop
    self.journal = journal
    self.generation = generation
    limits = generation.settings.limits
    deadlines = DeadlineQueue(loop: loop)
    resolver = Resolver(loop: loop)
    heap = HeapRelief(loop: loop)
    do throws(SystemError) {
      diagnostics = try SocketDiagnostics()
    } catch {
      diagnostics = nil
      journal.event(.error, "callers-unknown", ("detail", "every TCP caller will be refused: \(error)"))
    }
    _ = lookAtClocks()
    flushAgain = Timer(loop: loop) { [unowned self] in flushJournal() }
    acceptAgain = Timer(loop: loop) { [unowned self] in mustWait = false }
    loop.onTurnEnd = { [unowned self] in
      turn &+= 1
      openWhatWaits()
      resumeIfPossible()
      flushJournal()
    }
  }

  var idleLimit: Int { isDraining ? 0 : limits.idlePerIdentity }
  var upstreamIdleTime: UInt64 { limits.upstreamIdle }
  var sessionCount: Int { sessions.count }

  /// By now the listeners are open, and connections are not; what `reserve` is for is still to come.
  func listen(on slots: [ListenerSlot]) {
    listeners = slots
    let vitals = ProcessVitals()
    let (wanted, limit) = (limits.connections, Int(clamping: vitals.descriptorLimit))
    affordable = max(1, (limit - Int(clamping: vitals.openDescriptors) - Worker.reserve) / 2)
    guard limit > 0, affordable < wanted else { return }
    journal.event(
      .notice, "descriptor-limit", ("connections", String(affordable)), ("wanted", String(wanted)),
      (
        "help",
        "\(limit) descriptors are enough for so many; LimitNOFILE= of the unit, or ulimit -n, says how many there are"
      ))
  }

  var connectionLimit: Int { min(limits.connections, affordable) }

  // MARK: connections

  func accepted(_ stream: EventLoop.Stream, on slot: ListenerSlot) {
    let peer = Peer(of: stream, diagnostics: diagnostics)
    let quota = quotas.add(quotaHolder(of: peer, on: slot))
    let limit = connectionLimit
    let share = limits.connections(of: quota.holder, outOf: limit)
    guard quota.connections <= share else { return refuse(stream, of: quota, share: share) }
    let session = ClientSession(stream: stream, listener: slot, peer: peer, quota: quota, worker: self)
    sessions[ObjectIdentifier(session)] = session
    heap.follow(sessions.count)
    guard sessions.count >= limit, !isPaused else { return }
    pause()
    if isLoud(&limitLoggedAt) {
      journal.event(
        .warning, "connection-limit", ("connections", String(limit)),
        ("help", "new ones wait until some end; limits: { connections: N } says how many there may be"))
    }
  }

  func acceptFailed(_ error: UVError, on slot: ListenerSlot) {
    if error.isTooManyFiles { makeRoom() }
    if isLoud(&acceptFailureLoggedAt) {
      journal.event(.error, "accept-failed", ("listener", slot.name), ("detail", error.description))
    }
    pause()
    mustWait = true
    acceptAgain?.start(after: Worker.acceptPause)
  }

  /// No descriptor is left: those that nobody uses just now are the first to go.
  func makeRoom() {
    for destination in generation.allDestinations { destination.closeIdle() }
  }

  /// Whether a line of its kind is due again.
  func isLoud(_ loggedAt: inout UInt64?) -> Bool {
    if let loggedAt, loop.now < loggedAt + Worker.acceptSilence { return false }
    loggedAt = loop.now
    return true
  }

  /// `turnEnded` is called, once all that this turn has brought is known.
  func openAtTurnEnd(_ session: ClientSession) { opening.append(session) }

  private func openWhatWaits() {
    // What one of them asks for in turn is a request of this turn, too.
    var index = 0
    while index < opening.count {
      opening[index].turnEnded()
      index += 1
    }
    opening.removeAll(keepingCapacity: true)
  }

  func ended(_ session: ClientSession) {
    sessions[ObjectIdentifier(session)] = nil
    heap.follow(sessions.count)
    quotas.remove(session.quota)
    mustWait = false
    if isDraining, sessions.isEmpty { onDrained?() }
  }

  private func pause() {
    guard !isPaused else { return }
    isPaused = true
    for slot in listeners { slot.pause() }
  }

  /// At the end of a turn, so that what the turn closed counts.
  private func resumeIfPossible() {
    guard isPaused, !mustWait, !isDraining, sessions.count < connectionLimit else { return }
    isPaused = false
    for slot in listeners { slot.resume() }
  }

  /// Whoever is called while it is lent gets another one.
  func takeOutput() -> Output { output.take() ?? Output() }
  func giveBack(_ output: consuming Output) { self.output = consume output }

  /// Empty, with room for all that one read can bring.
  func takePlaintext() -> [UInt8] {
    if var taken = plaintext.take() {
      taken.removeAll(keepingCapacity: true)
      return taken
    }
    var made: [UInt8] = []
    made.reserveCapacity(288 * 1024)
    return made
  }

  func giveBack(_ plaintext: consuming [UInt8]) { self.plaintext = plaintext }

  private func flushJournal() {
    if !journal.flush() { flushAgain?.start(after: 50) }
  }

  // MARK: generations

  /// Makes a generation current: what was not authorised yet is decided anew; what was may finish, for a while if it would no
  /// longer be allowed.
  func adopt(_ new: Generation, listeners slots: [ListenerSlot]) {
    let old = generation
    generation = new
    limits = new.settings.limits
    let gone = listeners.filter { slot in !slots.contains { $0 === slot } }
    listeners = slots
    for slot in gone { slot.close() }
    for destination in old.allDestinations { destination.retire() }
    var revoked: [ClientSession] = []
    for session in Array(sessions.values) {
      let isOrphan = !slots.contains { $0 === session.listener }
      if !session.configurationChanged(listener: isOrphan ? nil : session.listener.index) { revoked.append(session) }
    }
    guard !revoked.isEmpty else { return }
    journal.event(.notice, "revoked", ("exchanges", String(revoked.count)))
    let grace = new.settings.limits.revokedGrace
    deadlines.schedule(RevokedSessions(revoked), at: loop.now + grace)
  }

  // MARK: the end

  /// No new connections, no new requests; what runs may finish.
  func drain() {
    isDraining = true
    for slot in listeners { slot.close() }
    for destination in generation.allDestinations { destination.retire() }
    for session in Array(sessions.values) { session.drain() }
    if sessions.isEmpty { onDrained?() }
  }

  /// Whatever still runs is cut.
  func close() {
    for slot in listeners { slot.close() }
    for session in Array(sessions.values) { session.cut() }
    for destination in generation.allDestinations { destination.retire() }
    deadlines.close()
    heap.close()
    flushAgain?.close()
    acceptAgain?.close()
    loop.onTurnEnd = nil
    tellWhatHadNoLine()
    journal.flush()
  }
}
