/// The pool of connections to one upstream with the same credential and settings. It counts them, and chooses an idle
/// one for the next request. Opening and closing the connections is left to the caller.
public struct IdlePool<Connection> {
  /// Which idle connections a request may use.
  public enum Choice: Sendable {
    case any
    /// Only connections that have never carried a credential.
    case neverAuthenticated
    /// A connection that has carried the credential. If there is none, any connection.
    case authenticatedFirst
  }

  /// An idle connection.
  public struct Entry {
    /// The pooled connection.
    public let connection: Connection
    /// Whether a credential was sent on the connection.
    public let hasCarriedCredential: Bool
    /// The time from which the certificate check of the handshake is valid, in seconds since 1970.
    public let validFrom: Int64
    /// The time until which the certificate check of the handshake is valid, in seconds since 1970.
    public let validUntil: Int64

    /// Creates an entry. Without `validFrom` and `validUntil`, it is always valid.
    @inlinable public init(
      _ connection: Connection, hasCarriedCredential: Bool, validFrom: Int64 = .min, validUntil: Int64 = .max
    ) {
      self.connection = connection
      self.hasCarriedCredential = hasCarriedCredential
      (self.validFrom, self.validUntil) = (validFrom, validUntil)
    }

    /// Whether the certificate check of the handshake is still valid. `now` is seconds since 1970.
    @inlinable public func isValid(at now: Int64) -> Bool { validFrom <= now && now < validUntil }
  }

  @usableFromInline var entries: [Entry] = []
  /// Number of connections that are idle, in use or being opened.
  public private(set) var count = 0
  /// A number that `invalidate` increments.
  @usableFromInline private(set) var epoch: UInt64 = 0
  /// `true` if a newer configuration is in use, so that no connection is kept.
  public private(set) var isRetired = false

  /// Creates an empty pool.
  public init() {}

  /// The idle connections.
  @inlinable public var idle: [Connection] { entries.map(\.connection) }

  /// Adds a connection that is being opened to `count`. Returns the connection's epoch.
  public mutating func opened() -> UInt64 {
    count += 1
    return epoch
  }

  /// Subtracts a closed connection from `count`.
  public mutating func closed() { count -= 1 }

  /// Removes and returns the idle connection that was used last. `nil` if there is none.
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - expired: gets the connections to close.
  @inlinable public mutating func acquire(_ choice: Choice, at now: Int64, expired: inout [Connection]) -> Connection? {
    while let entry = popLast(choice) {
      if entry.isValid(at: now) { return entry.connection }
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

  /// Keeps an idle connection. Connections beyond `limit` are kept for half the time.
  /// - Parameters:
  ///   - epoch: the epoch that `opened` returned for the connection.
  ///   - time: how long idle connections are kept, in milliseconds.
  /// - Returns: the milliseconds for which the connection is kept. `nil` if it is not kept.
  @inlinable public mutating func keep(_ entry: Entry, of epoch: UInt64, limit: Int, time: UInt64) -> UInt64? {
    guard !isRetired, epoch == self.epoch, limit > 0 else { return nil }
    entries.append(entry)
    // Closing them immediately would cost a handshake for each in the next burst.
    return entries.count > limit ? time / 2 : time
  }

  /// Removes the connection for which `isMeant` is `true`, because it is no longer idle.
  @inlinable public mutating func remove(where isMeant: (Connection) -> Bool) {
    if let index = entries.lastIndex(where: { isMeant($0.connection) }) { entries.remove(at: index) }
  }

  /// Starts a new epoch: no existing connection serves another request. Returns the idle connections, to be closed.
  public mutating func invalidate() -> [Connection] {
    epoch &+= 1
    return removeIdle()
  }

  /// Stops keeping connections. Returns the idle connections, to be closed.
  public mutating func retire() -> [Connection] {
    isRetired = true
    return removeIdle()
  }

  /// Removes and returns the idle connections, to be closed.
  public mutating func removeIdle() -> [Connection] {
    let removed = entries
    entries = []
    return removed.map(\.connection)
  }
}
