internal import Transport

/// The client sessions of one worker.
final class WorkerSessions {
  private var all: [ObjectIdentifier: ClientSession] = [:]
  /// Sessions whose callers are not admitted, or have sent no client token over a network yet.
  private var unproven = UnprovenSessions()
  /// Sessions that begin something at the end of this turn of the loop.
  private var opening: [ClientSession] = []
  /// Tells the heap when many sessions have come and gone.
  private let flood: Flood
  /// Whether the worker ends once its last session has ended.
  var isDraining = false
  /// Called when a draining worker has no session left.
  var onDrained: (() -> Void)?

  init(flood: Flood) { self.flood = flood }

  var values: Dictionary<ObjectIdentifier, ClientSession>.Values { all.values }
  var count: Int { all.count }
  var isEmpty: Bool { all.isEmpty }

  /// - Parameter isUnproven: the session may be ended in favour of a caller that is admitted.
  func add(_ session: ClientSession, isUnproven: Bool) {
    all[ObjectIdentifier(session)] = session
    if isUnproven { unproven.append(session) }
    flood.rise()
  }

  func remove(_ session: ClientSession) {
    all[ObjectIdentifier(session)] = nil
    unproven.remove(session)
    flood.fall()
  }

  /// Each session may finish what runs, and ends then.
  func drain() {
    for session in Array(all.values) { session.drain() }
    reportIfDrained()
  }

  func reportIfDrained() {
    if isDraining, all.isEmpty { onDrained?() }
  }

  // MARK: strangers

  /// The caller of a session has shown who it is.
  func prove(_ session: ClientSession) { unproven.remove(session) }

  func removeOldestUnproven() -> ClientSession? { unproven.takeFirst() }

  // MARK: the end of a turn

  /// `turnEnded` of the session is called once all that this turn has brought is known.
  func openAtTurnEnd(_ session: ClientSession) { opening.append(session) }

  func turnEnded() {
    var index = 0  // what a session asks for in turn is a request of this turn, too
    while index < opening.count {
      opening[index].turnEnded()
      index += 1
    }
    opening.removeAll(keepingCapacity: true)
  }
}
