/// Connections of callers that are not admitted, or have sent no client token over the network yet. Oldest first.
struct UnprovenSessions {
  /// Session numbers in the order of arrival, also of removed sessions.
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

  mutating func remove(_ session: ClientSession) {
    guard let number = session.client.unprovenNumber else { return }
    session.client.unprovenNumber = nil
    sessions[number] = nil
  }

  mutating func popFirst() -> ClientSession? {
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
