package import Configuration
internal import EventLoop
internal import Gateway
package import Log
internal import Generations
internal import StatusModel
internal import Synchronization
internal import System

/// Accepts connections on all listeners up to the connection limit, and distributes them to the workers.
package final class Acceptor {
  private unowned let worker: Worker
  private unowned let workerGroup: WorkerGroup
  package private(set) var listeners: [BoundListener] = []
  /// `true` for a while after accepting has failed (T56).
  private var mustWait = false
  private var failureLoggedAt: UInt64?
  private var limitLoggedAt: UInt64?
  private var retryTimer: Timer?
  /// The number of the next `ListenerID`.
  private var createdListeners: UInt64 = 0

  /// Milliseconds after which accepting is tried again.
  private static let retryDelay: UInt64 = 200
  /// Minimum milliseconds between two log lines about the same problem.
  private static let logInterval: UInt64 = 10_000
  /// File descriptors reserved for secret files, the control socket and helper programs.
  private static let reservedDescriptors = 16
  /// Number of file descriptors that each additional worker needs.
  private static let descriptorsPerWorker = 8

  package init(worker: Worker, workerGroup: WorkerGroup) {
    self.worker = worker
    self.workerGroup = workerGroup
    retryTimer = Timer(loop: worker.loop) { [unowned self] in mustWait = false }
  }

  /// Creates a listener, which does not accept connections yet.
  package func makeListener(_ sockets: ListenerSockets) -> BoundListener {
    defer { createdListeners += 1 }
    return BoundListener(sockets, id: ListenerID(number: createdListeners), acceptor: self)
  }

  /// Returns for how many of the `wanted` connections there are enough file descriptors. Call this after the listeners
  /// are open.
  /// - Throws: an error if several workers have too few descriptors for even one connection.
  package static func affordable(_ wanted: Int, workers: Int, log: EventLog) throws(StartError) -> Int {
    let vitals = ProcessVitals()
    let limit = Int(clamping: vitals.descriptorLimit)
    let needed = Int(clamping: vitals.openDescriptors) + (workers - 1) * descriptorsPerWorker + reservedDescriptors
    guard limit == 0 || workers == 1 || limit >= needed + 2 else {
      throw .system(
        "\(workers) workers need \(needed + 2) file descriptors, but the limit is \(limit): raise LimitNOFILE= of the unit (ulimit -n), or set workers: 1"
      )
    }
    let affordable = max(1, (limit - needed) / 2)
    if limit > 0, affordable < wanted {
      log.event(
        .descriptorLimit, ("connections", String(affordable)), ("wanted", String(wanted)),
        (
          "help",
          "the limit of \(limit) file descriptors allows only this many connections: raise LimitNOFILE= of the unit (ulimit -n)"
        ))
    }
    return affordable
  }

  package func listen(on new: [BoundListener]) {
    for listener in listeners where !new.contains(where: { $0 === listener }) { listener.close() }
    listeners = new
  }

  /// Gives a connection to the worker with the fewest connections (T5). Returns `false` if that is the acceptor's own
  /// worker.
  func handOff(_ socket: AcceptedSocket, from listener: BoundListener) -> Bool {
    // With one socket per worker (SO_REUSEPORT), another program of the same user could listen on the port.
    guard !workerGroup.links.isEmpty, !worker.generation.snapshot.isForMetrics(listener.id) else {
      return false
    }
    // The first of equal workers is chosen, so that sequential connections reuse one worker's idle upstream connections.
    var (chosen, fewest) = (WorkerLink?.none, worker.connectionCount)
    for link in workerGroup.links {
      let count = link.connections.load(ordering: .relaxed)
      if count < fewest { (chosen, fewest) = (link, count) }
    }
    guard let chosen else { return false }
    chosen.connections.add(1, ordering: .sequentiallyConsistent)
    let id = listener.id
    chosen.post { $0.receive(socket, at: id) }
    pauseIfFull()
    return true
  }

  func accepted(_ stream: EventLoop.Stream, on listener: BoundListener) {
    worker.accept(stream, at: listener.id)
    pauseIfFull()
  }

  private var connections: Int { worker.connectionCount + workerGroup.connections }

  private func pauseIfFull() {
    let limit = worker.connectionLimit
    guard connections >= limit, !worker.isFull else { return }
    pause()
    if isDue(&limitLoggedAt) {
      worker.log.event(
        .connectionLimit, ("connections", String(limit)),
        ("help", "new connections wait until others end. limits: { connections: N } sets the maximum"))
    }
  }

  func failed(_ error: UVError, on listener: BoundListener) {
    if error.isTooManyFiles { worker.freeDescriptors() }
    if isDue(&failureLoggedAt) {
      worker.log.event(.acceptFailed, ("listener", listener.name), ("detail", error.description))
    }
    pause()
    mustWait = true
    retryTimer?.start(after: Acceptor.retryDelay)
  }

  /// Allows accepting again, because a connection has ended.
  func connectionEnded() { mustWait = false }

  /// Resumes accepting if there is room.
  func resumeIfPossible() {
    guard worker.isFull, !mustWait, !worker.isDraining, connections < worker.connectionLimit else { return }
    setFull(false)
    for listener in listeners { listener.resume() }
  }

  func closeListeners() { for listener in listeners { listener.close() } }

  func close() {
    closeListeners()
    retryTimer?.close()
  }

  private func pause() {
    guard !worker.isFull else { return }
    setFull(true)
    for listener in listeners { listener.pause() }
  }

  /// Tells the other workers whether accepting is paused.
  private func setFull(_ isFull: Bool) {
    worker.isFull = isFull
    worker.sharedState.isFull.store(isFull, ordering: .sequentiallyConsistent)
  }

  private func isDue(_ loggedAt: inout UInt64?) -> Bool {
    if let loggedAt, worker.loop.now < loggedAt + Acceptor.logInterval { return false }
    loggedAt = worker.loop.now
    return true
  }
}
