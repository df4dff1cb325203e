/// A connection that a pool can keep.
public protocol PooledConnection: AnyObject {
  /// The result of `ConnectionPool.opened` for this connection.
  var epoch: UInt64 { get }
  /// Whether the connection can take another run, in addition to its runs in progress.
  var hasRoom: Bool { get }
  /// Whether a credential was sent on the connection.
  var hasCarriedCredential: Bool { get }
  /// Whether the certificate check of the handshake is still valid. `now` is seconds since 1970.
  func isValid(at now: Int64) -> Bool
}

/// The pool of connections to one upstream with the same credential and settings. It counts them, and chooses one for
/// the next run: a connection in use that has room, or an idle one. Opening and closing the connections is left to the
/// caller.
public struct ConnectionPool<Connection: PooledConnection> {
  /// Which connections a request may use.
  public enum Choice: Sendable {
    case any
    /// Only idle connections that have never carried a credential.
    case neverAuthenticated
    /// An idle connection that has carried the credential. If there is none, any idle connection.
    case authenticatedFirst
  }

  /// The most recently used connection is the last one.
  @usableFromInline var idleConnections: [Connection] = []
  /// The connections in use that have room. Empty if each connection has at most one run, as in HTTP/1.
  @usableFromInline var roomyConnections: [Connection] = []
  /// Number of connections that are idle, in use or being opened.
  public private(set) var count = 0
  /// A number that `invalidate` increments.
  @usableFromInline private(set) var epoch: UInt64 = 0
  /// `true` if a newer configuration is in use, so that no connection is kept.
  public private(set) var isRetired = false

  /// Creates an empty pool.
  public init() {}

  /// The connections without a run that are kept for later runs.
  @inlinable public var idle: [Connection] { idleConnections }

  /// Adds a connection that is being opened to `count`. Returns the connection's epoch.
  public mutating func opened() -> UInt64 {
    count += 1
    return epoch
  }

  /// Subtracts a closed connection from `count`.
  public mutating func closed() { count -= 1 }

  /// Returns a connection for one run: a connection in use that has room, or the idle connection that was used last.
  /// `nil` if there is none. The pool no longer contains an idle connection that it returns. The caller begins the run
  /// and then calls `update`.
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - expired: gets the idle connections to close.
  @inlinable public mutating func acquire(_ choice: Choice, at now: Int64, expired: inout [Connection]) -> Connection? {
    // Only for `any`: a run that sends a credential could authenticate the connection of a run without a credential.
    if !roomyConnections.isEmpty, choice == .any {
      roomyConnections.removeAll { !$0.hasRoom || !$0.isValid(at: now) }
      if let connection = roomyConnections.last { return connection }
    }
    while let connection = popLast(choice) {
      if connection.hasRoom, connection.isValid(at: now) { return connection }
      expired.append(connection)
    }
    return nil
  }

  @inlinable mutating func popLast(_ choice: Choice) -> Connection? {
    switch choice {
    case .any: idleConnections.popLast()
    case .neverAuthenticated:
      idleConnections.lastIndex { !$0.hasCarriedCredential }.map { idleConnections.remove(at: $0) }
    case .authenticatedFirst:
      idleConnections.lastIndex { $0.hasCarriedCredential }.map { idleConnections.remove(at: $0) }
        ?? idleConnections.popLast()
    }
  }

  /// Offers a connection in use to further runs while it has room. Call this when a run begins or ends, or when the
  /// connection's limit changes. Does nothing for an idle connection, which `acquire` offers anyway.
  @inlinable public mutating func update(_ connection: Connection) {
    let isOffered = !isRetired && connection.hasRoom && connection.epoch == epoch
    // The usual case for HTTP/1.
    if !isOffered, roomyConnections.isEmpty { return }
    if idleConnections.contains(where: { $0 === connection }) { return }
    let index = roomyConnections.firstIndex { $0 === connection }
    if let index {
      if !isOffered { roomyConnections.remove(at: index) }
    } else if isOffered {
      roomyConnections.append(connection)
    }
  }

  /// Keeps a connection without runs. Connections beyond `limit` are kept for half the time.
  /// - Parameter time: how long idle connections are kept, in milliseconds.
  /// - Returns: the milliseconds for which the connection is kept. `nil` if it is not kept.
  @inlinable public mutating func keep(_ connection: Connection, limit: Int, time: UInt64) -> UInt64? {
    if let index = roomyConnections.firstIndex(where: { $0 === connection }) { roomyConnections.remove(at: index) }
    guard !isRetired, connection.epoch == epoch, limit > 0 else { return nil }
    idleConnections.append(connection)
    // Closing them immediately would cost a handshake for each in the next burst.
    return idleConnections.count > limit ? time / 2 : time
  }

  /// Removes a connection, so that it takes no further run.
  @inlinable public mutating func remove(_ connection: Connection) {
    if let index = idleConnections.lastIndex(where: { $0 === connection }) { idleConnections.remove(at: index) }
    if let index = roomyConnections.firstIndex(where: { $0 === connection }) { roomyConnections.remove(at: index) }
  }

  /// Starts a new epoch: no existing connection takes another run. Returns the idle connections, to be closed.
  public mutating func invalidate() -> [Connection] {
    epoch &+= 1
    roomyConnections = []
    return removeIdle()
  }

  /// Stops keeping connections. Returns the idle connections, to be closed.
  public mutating func retire() -> [Connection] {
    isRetired = true
    roomyConnections = []
    return removeIdle()
  }

  /// Removes and returns the idle connections, to be closed.
  public mutating func removeIdle() -> [Connection] {
    let removed = idleConnections
    idleConnections = []
    return removed
  }
}
