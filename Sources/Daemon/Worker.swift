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
  private(set) var generation: Generation
  private(set) var statistics = Statistics()
  /// The one output of the machines, and the one buffer for plaintext: used within a turn, never across.
  var output = Output()
  var plaintext: [UInt8] = []
  private var sessions: [ObjectIdentifier: ClientSession] = [:]
  private var listeners: [ListenerSlot] = []
  private var isPaused = false
  private(set) var isDraining = false
  /// Called when a draining worker has no session left.
  var onDrained: (() -> Void)?
  private var retry: Timer?

  struct Statistics {
    private(set) var fullHandshakes = 0
    private(set) var resumedHandshakes = 0
    private(set) var connections = 0

    mutating func count(handshakeResumed: Bool) {
      if handshakeResumed { resumedHandshakes += 1 } else { fullHandshakes += 1 }
    }
    mutating func countConnection() { connections += 1 }
  }

  init(loop: Loop, journal: Journal, generation: Generation) {
    self.loop = loop
    self.journal = journal
    self.generation = generation
    deadlines = DeadlineQueue(loop: loop)
    resolver = Resolver(loop: loop)
    do throws(SystemError) {
      diagnostics = try SocketDiagnostics()
    } catch {
      diagnostics = nil
      journal.event(.error, "callers-unknown", ("detail", "every TCP caller will be refused: \(error)"))
    }
    plaintext.reserveCapacity(288 * 1024)
    retry = Timer(loop: loop) { [unowned self] in flushJournal() }
    loop.onTurnEnd = { [unowned self] in flushJournal() }
  }

  var idleLimit: Int { isDraining ? 0 : generation.settings.limits.idlePerIdentity }
  var upstreamIdleTime: UInt64 { generation.settings.limits.upstreamIdle }
  var sessionCount: Int { sessions.count }

  func countHandshake(isResumed: Bool) { statistics.count(handshakeResumed: isResumed) }

  func listen(on slots: [ListenerSlot]) { listeners = slots }

  // MARK: connections

  func accepted(_ stream: EventLoop.Stream, on slot: ListenerSlot) {
    statistics.countConnection()
    let session = ClientSession(
      stream: stream, listener: slot, peer: Peer(of: stream, diagnostics: diagnostics), worker: self)
    sessions[ObjectIdentifier(session)] = session
    if sessions.count >= generation.settings.limits.connections { pause() }
  }

  func acceptFailed(_ error: UVError, on slot: ListenerSlot) {
    journal.event(.error, "accept-failed", ("listener", slot.name), ("detail", error.description))
    pause()
  }

  func ended(_ session: ClientSession) {
    sessions[ObjectIdentifier(session)] = nil
    if isPaused, !isDraining, sessions.count < generation.settings.limits.connections { resume() }
    if isDraining, sessions.isEmpty { onDrained?() }
  }

  private func pause() {
    guard !isPaused else { return }
    isPaused = true
    for slot in listeners { slot.pause() }
    retry?.start(after: 200)
  }

  private func resume() {
    isPaused = false
    for slot in listeners { slot.resume() }
  }

  private func flushJournal() {
    if isPaused, !isDraining, sessions.count < generation.settings.limits.connections { resume() }
    if !journal.flush() { retry?.start(after: 50) }
  }

  // MARK: generations

  /// Makes a generation current: what was not authorised yet is decided anew; what was may finish, for a while if it would no
  /// longer be allowed.
  func adopt(_ new: Generation, listeners slots: [ListenerSlot]) {
    let old = generation
    generation = new
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
    let cut = Cut(revoked)
    deadlines.schedule(cut, at: loop.now + grace)
  }

  private final class Cut: Timed {
    /// With the generation under which each was authorised, which may be older than the last one.
    private let revoked: [(session: ClientSession, generation: Generation)]

    init(_ sessions: [ClientSession]) { revoked = sessions.map { ($0, $0.generation) } }

    override func deadlinePassed() {
      for entry in revoked { entry.session.cut(ifStillIn: entry.generation) }
    }
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
    for session in Array(sessions.values) { session.close(reset: true) }
    for destination in generation.allDestinations { destination.retire() }
    deadlines.close()
    retry?.close()
    loop.onTurnEnd = nil
    journal.flush()
  }
}
