/// The connections of one identity: how many there are, and which of the idle ones serves the next request. No socket and no
/// clock: what has to be closed is returned.
///
/// Public and inlinable, so that another module's compiler knows what a connection is.
public struct IdlePool<Connection> {
  /// Which of the idle connections a request may have.
  public enum Choice: Sendable {
    case any
    /// For a request that goes out without its credential: what an upstream answers on a connection that has carried one may be
    /// that user's (RFC 4559 section 5 tells of such servers).
    case neverAuthenticated
    /// Any, and first of all one that has carried the credential, so that the others stay as they are.
    case authenticatedFirst
  }

  /// An idle connection.
  public struct Entry {
    /// The connection itself.
    public let connection: Connection
    /// A credential has gone out on it.
    public let hasCarriedCredential: Bool
    /// The second since 1970 from which on the proofs of the connection's handshake hold.
    public let validFrom: Int64
    /// The second since 1970 at which the proofs of the connection's handshake end.
    public let validUntil: Int64

    /// - Parameters:
    ///   - validFrom: seconds since 1970; without a handshake there is nothing that could end.
    ///   - validUntil: the same.
    @inlinable public init(
      _ connection: Connection, hasCarriedCredential: Bool, validFrom: Int64 = .min, validUntil: Int64 = .max
    ) {
      self.connection = connection
      self.hasCarriedCredential = hasCarriedCredential
      (self.validFrom, self.validUntil) = (validFrom, validUntil)
    }

    /// Whether what its handshake proved still holds.
    /// - Parameter now: seconds since 1970.
    @inlinable public func holds(at now: Int64) -> Bool { validFrom <= now && now < validUntil }
  }

  @usableFromInline var entries: [Entry] = []
  /// Connections that are idle, in use or being made.
  public private(set) var count = 0
  /// Connections of an earlier one are not kept.
  @usableFromInline private(set) var epoch: UInt64 = 0
  /// A newer configuration is current: nothing is kept any more.
  public private(set) var isRetired = false

  /// An empty one.
  public init() {}

  /// The idle connections.
  @inlinable public var idle: [Connection] { entries.map(\.connection) }

  /// A connection is being made. Returns the epoch in which it was.
  public mutating func opened() -> UInt64 {
    count += 1
    return epoch
  }

  /// A connection is closed.
  public mutating func closed() { count -= 1 }

  /// The one that was used last: the others grow old and go.
  /// - Parameters:
  ///   - now: seconds since 1970. Whether the upstream may have more on a connection whose proof has ended is for a handshake to say.
  ///   - expired: gets those whose proof does not hold now, to be closed.
  @inlinable public mutating func take(_ choice: Choice, at now: Int64, expired: inout [Connection]) -> Connection? {
    while let entry = popLast(choice) {
      if entry.holds(at: now) { return entry.connection }
      expired.append(entry.connection)
    }
    return nil
  }

  @inlinable mutating func popLast(_ choice: Choice) -> Entry? {
    switch choice {
    case .any: entries.popLast()
    case .neverAuthenticated: entries.lastIndex { !$0.hasCarriedCredential }.map { entries.remove(at: $0) }
    case .authenticatedFirst:
      entries.lastIndex { $0.hasCarriedCredential }.map { entries.remove(at: $0) } ?? entries.popLast()
    }
  }

  /// More than `limit` are kept for half the time, for the next wave of a busy time: to close them at once would mean a
  /// handshake for each.
  /// - Parameters:
  ///   - epoch: in which the connection was made.
  ///   - time: milliseconds.
  /// - Returns: for how many milliseconds it is kept; nil: it is not.
  @inlinable public mutating func keep(_ entry: Entry, of epoch: UInt64, limit: Int, time: UInt64) -> UInt64? {
    guard !isRetired, epoch == self.epoch, limit > 0 else { return nil }
    entries.append(entry)
    return entries.count > limit ? time / 2 : time
  }

  /// Takes connections out that are idle no longer.
  @inlinable public mutating func forget(where isMeant: (Connection) -> Bool) {
    if let index = entries.lastIndex(where: { isMeant($0.connection) }) { entries.remove(at: index) }
  }

  /// Whatever there is so far serves no other request. Returns the idle ones, to be closed.
  public mutating func setApart() -> [Connection] {
    epoch &+= 1
    return removeIdle()
  }

  /// Nothing is kept from now on. Returns the idle ones, to be closed.
  public mutating func retire() -> [Connection] {
    isRetired = true
    return removeIdle()
  }

  /// Returns the idle ones, to be closed.
  public mutating func removeIdle() -> [Connection] {
    let removed = entries
    entries = []
    return removed.map(\.connection)
  }
}
