package import Configuration
internal import EventLoop
internal import Gateway
package import Log
internal import Setup
internal import Synchronization
internal import System

/// Accepts connections on all listeners, for as long as there is room, and gives them to the worker.
package final class Acceptor {
  private unowned let worker: Worker
  private unowned let workerGroup: WorkerGroup
  package private(set) var slots: [BoundListener] = []
  /// Accepting failed a moment ago; trying again at once would spin (T56).
  private var mustWait = false
  private var failureLoggedAt: UInt64?
  private var limitLoggedAt: UInt64?
  private var again: Timer?
  /// The number of listeners so far, which is the next one's identity. A first configuration numbers its listeners from 0 as well.
  private var identified: UInt64 = 0

  /// Milliseconds until accepting is tried again, and between two lines that say why it is not.
  private static let pause: UInt64 = 200
  private static let silence: UInt64 = 10_000
  /// Descriptors for what is no connection: files of secrets, the control socket, programs that print secrets.
  private static let reserve = 16
  /// Descriptors that each worker besides the first one has of its own: its loop, and what tells it of callers and of files.
  private static let perWorker = 8

  package init(worker: Worker, workerGroup: WorkerGroup) {
    self.worker = worker
    self.workerGroup = workerGroup
    again = Timer(loop: worker.loop) { [unowned self] in mustWait = false }
  }

  /// A listener that does not accept yet.
  package func slot(_ sockets: ListenerSockets) -> BoundListener {
    defer { identified += 1 }
    return BoundListener(sockets, id: ListenerID(number: identified), acceptor: self)
  }

  /// How many connections there are descriptors for, with another for each connection's upstream. By now the listeners are
  /// open, and connections are not; what `reserve` is for is still to come.
  /// - Throws: if several workers would leave none for a single connection. One worker begins all the same.
  package static func affordable(_ wanted: Int, workers: Int, log: EventLog) throws(StartError) -> Int {
    let vitals = ProcessVitals()
    let limit = Int(clamping: vitals.descriptorLimit)
    let needed = Int(clamping: vitals.openDescriptors) + (workers - 1) * perWorker + reserve
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

  /// These, and no others.
  package func listen(on new: [BoundListener]) {
    for slot in slots where !new.contains(where: { $0 === slot }) { slot.close() }
    slots = new
  }

  /// Whether another worker gets this connection: the one that has the fewest, and the first one of those that have as many.
  /// Who asks one thing after the other, each on a connection of its own, thus has one worker's sessions at the upstreams.
  ///
  /// One thread accepts for all, and hands the connections on. With a socket for each (SO_REUSEPORT), any program of the same
  /// user could listen beside us and get its part of the connections (T5), and a reload would lose those that wait on a
  /// socket that goes. With one socket for all, each connection would wake everybody, and the first would take all that wait.
  func handsOn(_ socket: AcceptedSocket, from slot: BoundListener) -> Bool {
    guard !workerGroup.links.isEmpty, !worker.generation.snapshot.isForMetrics(slot.id) else {
      return false
    }
    var (chosen, fewest) = (WorkerLink?.none, worker.sessionCount)
    for link in workerGroup.links {
      let count = link.connections.load(ordering: .relaxed)
      if count < fewest { (chosen, fewest) = (link, count) }
    }
    guard let chosen else { return false }
    chosen.connections.add(1, ordering: .sequentiallyConsistent)
    let id = slot.id
    chosen.post { $0.receive(socket, at: id) }
    pauseIfFull()
    return true
  }

  func accepted(_ stream: EventLoop.Stream, on slot: BoundListener) {
    worker.take(stream, at: slot.id)
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

  func failed(_ error: UVError, on slot: BoundListener) {
    if error.isTooManyFiles { worker.makeRoom() }
    if isDue(&failureLoggedAt) {
      worker.log.event(.acceptFailed, ("listener", slot.name), ("detail", error.description))
    }
    pause()
    mustWait = true
    again?.start(after: Acceptor.pause)
  }

  /// A connection has ended, and so there is a descriptor.
  func hasRoom() { mustWait = false }

  /// At the end of a turn, so that what the turn closed counts.
  func resumeIfPossible() {
    guard worker.isFull, !mustWait, !worker.isDraining, connections < worker.connectionLimit else { return }
    setFull(false)
    for slot in slots { slot.resume() }
  }

  /// No connection comes any more.
  func closeListeners() { for slot in slots { slot.close() } }

  func close() {
    closeListeners()
    again?.close()
  }

  private func pause() {
    guard !worker.isFull else { return }
    setFull(true)
    for slot in slots { slot.pause() }
  }

  /// Says that there is no room, or that there is: a worker that ends a connection looks at this, and the end of this turn at
  /// how many are left.
  private func setFull(_ isFull: Bool) {
    worker.isFull = isFull
    worker.sharedState.isFull.store(isFull, ordering: .sequentiallyConsistent)
  }

  private func isDue(_ loggedAt: inout UInt64?) -> Bool {
    if let loggedAt, worker.loop.now < loggedAt + Acceptor.silence { return false }
    loggedAt = worker.loop.now
    return true
  }
}
