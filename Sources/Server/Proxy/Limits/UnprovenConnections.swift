/// Connections of callers that are not admitted, or have sent no client token over the network yet. Oldest first.
struct UnprovenConnections {
  /// Connection numbers in the order of arrival, also of removed connections.
  private var order: [UInt64] = []
  private var start = 0
  private var connections: [UInt64: ClientConnection] = [:]
  private var last: UInt64 = 0

  mutating func append(_ connection: ClientConnection) {
    last += 1
    connection.unprovenNumber = last
    connections[last] = connection
    order.append(last)
    if order.count > 2 * connections.count + 64 { removeEnded() }
  }

  mutating func remove(_ connection: ClientConnection) {
    guard let number = connection.unprovenNumber else { return }
    connection.unprovenNumber = nil
    connections[number] = nil
  }

  mutating func popFirst() -> ClientConnection? {
    while start < order.count {
      start += 1
      guard let connection = connections.removeValue(forKey: order[start - 1]) else { continue }
      connection.unprovenNumber = nil
      return connection
    }
    return nil
  }

  private mutating func removeEnded() {
    order = order[start...].filter { connections[$0] != nil }
    start = 0
  }
}
