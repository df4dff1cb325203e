package import Configuration
internal import EventLoop
internal import Gateway
package import Log
internal import Setup
internal import Synchronization
internal import System

/// Accepts connections on all listeners up to the connection limit, and distributes them to the workers.
package final class Acceptor {
  private unowned let worker: Worker
  private unowned let workerGroup: WorkerGroup
  package private(set) var listeners: [BoundListener] = []
  /// `true` after accepting has failed, until `retryDelay` has passed or a connection has ended. Immediate retries
  /// could fail forever (T56).
  private var mustWait = false
  private var failureLoggedAt: UInt64?
  private var limitLoggedAt: UInt64?
  private var retryTimer: Timer?
  /// The number of the next `ListenerID`. Begins with 0, because the first snapshot numbers its listeners from 0.
  private var createdListeners: UInt64 = 0

  /// Milliseconds after which accepting is tried again.
  private static let retryDelay: UInt64 = 200
  /// Minimum milliseconds between two log lines about the same problem.
  private static let logInterval: UInt64 = 10_000
  /// File descriptors reserved for secret files, the control socket and helper programs.
  private static let reservedDescriptors = 16
  /// File descriptors of each additional worker: its loop, its socket for caller lookups, and its file watcher.
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

  /// Returns the number of connections for which there are enough file descriptors, at most `wanted`. Each connection
  /// needs one descriptor for itself and one for its upstream connection. Call this after the listeners are open, and
  /// before a connection is accepted.
  /// - Throws: an error if there are several workers, and too few descriptors for even one connection. A single worker
  ///   starts in any case.
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

  /// Gives a connection to the worker with the fewest connections. Returns `false` if the acceptor's own worker must
  /// serve it.
  ///
  /// One thread accepts for all workers. With one socket per worker (SO_REUSEPORT), another program of the same user
  /// could listen on the port and get some of the connections (T5). Closing a worker's socket at a reload would also
  /// lose the connections that wait there.
  func handOff(_ socket: AcceptedSocket, from listener: BoundListener) -> Bool {
    guard !workerGroup.links.isEmpty, !worker.generation.snapshot.isForMetrics(listener.id) else {
      return false
    }
    // The first of equal workers is chosen, so that sequential connections reuse one worker's idle upstream sessions.
    var (chosen, fewest) = (WorkerLink?.none, worker.sessionCount)
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

  private var connections: Int { worker.sessionCount + workerGroup.connections }

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

  /// Allows accepting again, because a connection has ended and its descriptor is free.
  func connectionEnded() { mustWait = false }

  /// Resumes accepting if there is room. Called at the end of each turn of the loop.
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

  /// Stores whether accepting is paused. Other workers read this flag when a connection ends.
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
