internal import Transport

final class WorkerSessions {
  private var all: [ObjectIdentifier: ClientSession] = [:]
  /// Sessions that may be ended to make room for other callers.
  private var unproven = UnprovenSessions()
  /// Sessions that open an upstream connection at the end of this turn of the event loop.
  private var opening: [ClientSession] = []
  private let spikes: SpikeDetector
  /// Whether the worker ends once its last session has ended.
  var isDraining = false
  var onDrained: (() -> Void)?

  init(spikes: SpikeDetector) { self.spikes = spikes }

  var values: Dictionary<ObjectIdentifier, ClientSession>.Values { all.values }
  var count: Int { all.count }

  /// - Parameter isUnproven: whether the session may be ended to make room for another caller.
  func add(_ session: ClientSession, isUnproven: Bool) {
    all[ObjectIdentifier(session)] = session
    if isUnproven { unproven.append(session) }
    spikes.increment()
  }

  func remove(_ session: ClientSession) {
    all[ObjectIdentifier(session)] = nil
    unproven.remove(session)
    spikes.decrement()
  }

  /// Ends each session after its current request.
  func drain() {
    for session in Array(all.values) { session.drain() }
    reportIfDrained()
  }

  func reportIfDrained() {
    if isDraining, all.isEmpty { onDrained?() }
  }

  // MARK: unproven sessions

  /// Records that the session's caller has sent a client token.
  func markProven(_ session: ClientSession) { unproven.remove(session) }

  func removeOldestUnproven() -> ClientSession? { unproven.popFirst() }

  // MARK: the end of a turn

  /// Schedules a call of the session's `turnEnded`.
  func openAtTurnEnd(_ session: ClientSession) { opening.append(session) }

  func turnEnded() {
    var index = 0  // `opening` can grow during the loop
    while index < opening.count {
      opening[index].turnEnded()
      index += 1
    }
    opening.removeAll(keepingCapacity: true)
  }
}
