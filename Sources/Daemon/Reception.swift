internal import Configuration
internal import EventLoop
internal import System

/// Accepts connections on all listeners, for as long as there is room, and gives them to the worker.
final class Reception {
  private unowned let worker: Worker
  private(set) var slots: [ListenerSlot] = []
  /// Accepting failed a moment ago; trying again at once would spin (T56).
  private var mustWait = false
  private var failureLoggedAt: UInt64?
  private var limitLoggedAt: UInt64?
  private var again: Timer?
  private var lastID: UInt64 = 0

  /// Milliseconds until accepting is tried again, and between two lines that say why it is not.
  private static let pause: UInt64 = 200
  private static let silence: UInt64 = 10_000
  /// Descriptors for what is no connection: files of secrets, the control socket, programs that print secrets.
  private static let reserve = 16

  init(worker: Worker) {
    self.worker = worker
    again = Timer(loop: worker.loop) { [unowned self] in mustWait = false }
  }

  /// A listener that does not accept yet.
  func slot(_ sockets: ListenerSockets, index: Int) -> ListenerSlot {
    lastID += 1
    return ListenerSlot(sockets, id: lastID, index: index, reception: self)
  }

  /// How many connections there are descriptors for, with another for each connection's upstream. By now the listeners are
  /// open, and connections are not; what `reserve` is for is still to come.
  static func affordable(_ wanted: Int, journal: Journal) -> Int {
    let vitals = ProcessVitals()
    let limit = Int(clamping: vitals.descriptorLimit)
    let affordable = max(1, (limit - Int(clamping: vitals.openDescriptors) - reserve) / 2)
    if limit > 0, affordable < wanted {
      journal.event(
        .notice, "descriptor-limit", ("connections", String(affordable)), ("wanted", String(wanted)),
        (
          "help",
          "\(limit) descriptors are enough for so many; LimitNOFILE= of the unit, or ulimit -n, says how many there are"
        ))
    }
    return affordable
  }

  /// These, and no others.
  func listen(on new: [ListenerSlot]) {
    for slot in slots where !new.contains(where: { $0 === slot }) { slot.close() }
    slots = new
  }

  func accepted(_ stream: EventLoop.Stream, on slot: ListenerSlot) {
    worker.take(stream, at: slot.entrance)
    let limit = worker.connectionLimit
    guard worker.sessionCount >= limit, !worker.isFull else { return }
    pause()
    if isDue(&limitLoggedAt) {
      worker.journal.event(
        .warning, "connection-limit", ("connections", String(limit)),
        ("help", "new ones wait until some end; limits: { connections: N } says how many there may be"))
    }
  }

  func failed(_ error: UVError, on slot: ListenerSlot) {
    if error.isTooManyFiles { worker.makeRoom() }
    if isDue(&failureLoggedAt) {
      worker.journal.event(.error, "accept-failed", ("listener", slot.name), ("detail", error.description))
    }
    pause()
    mustWait = true
    again?.start(after: Reception.pause)
  }

  /// A connection has ended, and so there is a descriptor.
  func hasRoom() { mustWait = false }

  /// At the end of a turn, so that what the turn closed counts.
  func resumeIfPossible() {
    guard worker.isFull, !mustWait, !worker.isDraining, worker.sessionCount < worker.connectionLimit else { return }
    worker.isFull = false
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
    worker.isFull = true
    for slot in slots { slot.pause() }
  }

  private func isDue(_ loggedAt: inout UInt64?) -> Bool {
    if let loggedAt, worker.loop.now < loggedAt + Reception.silence { return false }
    loggedAt = worker.loop.now
    return true
  }
}
