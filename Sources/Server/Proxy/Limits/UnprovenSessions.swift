/// Connections of strangers, oldest first: of callers who are not admitted, and by a network without a client token so far.
/// Each step takes constant time, on average.
struct UnprovenSessions {
  /// Numbers of sessions in the order in which they came; those that are no longer in `sessions` are skipped.
  private var order: [UInt64] = []
  private var start = 0
  private var sessions: [UInt64: ClientSession] = [:]
  private var last: UInt64 = 0

  mutating func append(_ session: ClientSession) {
    last += 1
    session.client.unprovenNumber = last
    sessions[last] = session
    order.append(last)
    if order.count > 2 * sessions.count + 64 { removeEnded() }
  }

  /// Does nothing for a session that is not among them.
  mutating func remove(_ session: ClientSession) {
    guard let number = session.client.unprovenNumber else { return }
    session.client.unprovenNumber = nil
    sessions[number] = nil
  }

  mutating func takeFirst() -> ClientSession? {
    while start < order.count {
      start += 1
      guard let session = sessions.removeValue(forKey: order[start - 1]) else { continue }
      session.client.unprovenNumber = nil
      return session
    }
    return nil
  }

  private mutating func removeEnded() {
    order = order[start...].filter { sessions[$0] != nil }
    start = 0
  }
}
