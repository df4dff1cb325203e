import Testing

@testable import Gateway

/// The pool of connections of one identity (T25). Letters stand for connections.
@Suite struct ConnectionPoolTests {
  typealias Pool = ConnectionPool<Connection>

  /// A connection of a protocol with at most `limit` runs at the same time.
  final class Connection: PooledConnection {
    let name: Character
    let epoch: UInt64
    let limit: Int
    var runs = 0
    let validity: Range<Int64>

    init(_ name: Character, of epoch: UInt64, limit: Int = 1, valid: Range<Int64> = .min ..< .max) {
      (self.name, self.epoch, self.limit, validity) = (name, epoch, limit, valid)
    }

    var hasRoom: Bool { runs < limit }
    /// Connections with capital letters have carried a credential.
    var hasCarriedCredential: Bool { name.isUppercase }
    func isValid(at now: Int64) -> Bool { validity.contains(now) }
  }

  /// - Parameters:
  ///   - names: idle connections in the order of their return.
  ///   - runs: the runs that each connection can have at the same time.
  private func pool(_ names: String, limit: Int = 10, runs: Int = 1) -> Pool {
    var pool = Pool()
    for name in names {
      let connection = Connection(name, of: pool.opened(), limit: runs)
      #expect(pool.keep(connection, limit: limit, time: 60) != nil)
    }
    return pool
  }

  /// Begins a run, as `UpstreamPool` and a connection do together.
  private func take(_ pool: inout Pool, _ choice: Pool.Choice = .any, at now: Int64 = 0) -> Connection? {
    var expired: [Connection] = []
    defer { #expect(expired.isEmpty) }
    guard let connection = pool.acquire(choice, at: now, expired: &expired) else { return nil }
    connection.runs += 1
    pool.update(connection)
    return connection
  }

  /// Ends a run.
  private func end(_ connection: Connection, _ pool: inout Pool) -> UInt64? {
    connection.runs -= 1
    guard connection.runs == 0 else {
      pool.update(connection)
      return nil
    }
    return pool.keep(connection, limit: 10, time: 60)
  }

  private func names(_ connections: [Connection]) -> String { String(connections.map(\.name)) }

  @Test func `the most recently used connection is reused first`() {
    var pool = pool("abc")
    let taken = [take(&pool)?.name, take(&pool)?.name]
    #expect(taken == ["c", "b"] && names(pool.idle) == "a" && pool.count == 3)
    pool.closed()
    let last = [take(&pool)?.name, take(&pool)?.name]
    #expect(last == ["a", nil] && pool.count == 2)
  }

  @Test(arguments: [
    ("aBc", Pool.Choice.neverAuthenticated, "c", "aB"), ("aBC", .neverAuthenticated, "a", "BC"),
    ("aBc", .authenticatedFirst, "B", "ac"), ("abc", .authenticatedFirst, "c", "ab"), ("aBc", .any, "c", "aB"),
  ])
  func `a request without a credential gets no connection that has carried a credential`(
    _ names: String, _ choice: Pool.Choice, _ taken: Character, _ left: String
  ) {
    var pool = pool(names)
    #expect(take(&pool, choice)?.name == taken && self.names(pool.idle) == left)
  }

  @Test func `a request without a credential gets none if all connections have carried a credential`() {
    var pool = pool("AB")
    #expect(take(&pool, .neverAuthenticated) == nil && names(pool.idle) == "AB")
  }

  @Test func `T40: idle connections whose certificates are expired or not yet valid are closed`() {
    var pool = pool("a")
    for (name, valid) in [("b", 0..<100), ("c", 200..<300), ("d", 50..<60)] as [(Character, Range<Int64>)] {
      let connection = Connection(name, of: pool.opened(), valid: valid)
      #expect(pool.keep(connection, limit: 9, time: 1) != nil)
    }
    var expired: [Connection] = []
    #expect(pool.acquire(.any, at: 100, expired: &expired)?.name == "a" && names(expired) == "dcb")
  }

  @Test func `connections beyond the limit are kept half as long, and a limit of 0 keeps none`() {
    var pool = pool("ab", limit: 2)
    #expect(pool.keep(Connection("c", of: 0), limit: 2, time: 60) == 30 && names(pool.idle) == "abc")
    #expect(pool.keep(Connection("d", of: 0), limit: 0, time: 60) == nil)
  }

  @Test func `T46: connections from before an invalidation, or after the pool's end, are not kept`() {
    var pool = pool("ab")
    let before = pool.opened()
    let (invalidated, rest) = (names(pool.invalidate()), names(pool.idle))
    #expect(invalidated == "ab" && rest == "")
    #expect(pool.keep(Connection("c", of: before), limit: 9, time: 60) == nil)
    let after = pool.opened()
    #expect(pool.keep(Connection("d", of: after), limit: 9, time: 60) == 60)
    let retired = names(pool.retire())
    #expect(retired == "d" && pool.isRetired)
    #expect(pool.keep(Connection("e", of: after), limit: 9, time: 60) == nil)
  }

  @Test func `a connection that ends while idle is removed`() {
    var pool = pool("abc")
    pool.remove(pool.idle[1])
    pool.remove(Connection("x", of: 0))
    #expect(names(pool.idle) == "ac")
    let removed = names(pool.removeIdle())
    #expect(removed == "ac" && take(&pool) == nil)
  }

  // MARK: several runs

  @Test func `a connection in use serves another run while it has room`() throws {
    var pool = pool("ab", runs: 2)
    let first = try #require(take(&pool))
    #expect(first.name == "b" && names(pool.idle) == "a")
    // A connection in use is preferred to an idle one.
    #expect(take(&pool) === first && names(pool.idle) == "a")
    // The connection is full.
    let second = try #require(take(&pool))
    #expect(second.name == "a" && take(&pool) === second && take(&pool) == nil)
    // The end of one run makes room, and the end of the last run makes the connection idle.
    #expect(end(first, &pool) == nil && pool.idle.isEmpty)
    #expect(take(&pool) === first && take(&pool) == nil)
    #expect(end(first, &pool) == nil && end(first, &pool) == 60 && names(pool.idle) == "b")
    #expect(take(&pool) === first && first.runs == 1)
  }

  @Test func `an idle connection is never also offered as one in use`() throws {
    var pool = pool("a", runs: 2)
    pool.update(pool.idle[0])
    let first = try #require(take(&pool))
    #expect(pool.idle.isEmpty && take(&pool) === first && take(&pool) == nil)
  }

  @Test func `an idle connection that takes no more runs is given up`() {
    var pool = pool("ab")
    pool.idle[1].runs = 1
    var expired: [Connection] = []
    let taken = pool.acquire(.any, at: 0, expired: &expired)
    #expect(taken?.name == "a" && names(expired) == "b")
  }

  @Test(arguments: [Pool.Choice.neverAuthenticated, .authenticatedFirst])
  func `T25: a request that depends on the connection's credential shares no connection in use`(
    _ choice: Pool.Choice
  ) throws {
    for name in ["a", "A"] {
      var pool = pool(name, runs: 2)
      _ = try #require(take(&pool))
      #expect(take(&pool, choice) == nil && take(&pool) != nil)
    }
  }

  @Test func `T40: a connection in use whose certificate has expired takes no further run and is not closed`() throws {
    var pool = Pool()
    let connection = Connection("a", of: pool.opened(), limit: 2, valid: 0..<100)
    #expect(pool.keep(connection, limit: 9, time: 60) == 60)
    _ = try #require(take(&pool, at: 99))
    #expect(take(&pool, at: 100) == nil)
    // Its last run ends, and the next request closes it.
    #expect(end(connection, &pool) == 60)
    var expired: [Connection] = []
    #expect(pool.acquire(.any, at: 100, expired: &expired) == nil && names(expired) == "a")
  }

  @Test(arguments: [true, false])
  func `T46: a connection in use takes no further run after an invalidation or the pool's end`(_ retires: Bool) throws {
    var pool = pool("a", runs: 3)
    let connection = try #require(take(&pool))
    #expect(take(&pool) === connection)
    let closed = retires ? pool.retire() : pool.invalidate()
    #expect(closed.isEmpty && take(&pool) == nil)
    // Also not after the end of a run.
    #expect(end(connection, &pool) == nil && take(&pool) == nil)
    #expect(end(connection, &pool) == nil && pool.idle.isEmpty)
  }

  @Test func `removing idle connections leaves connections in use`() throws {
    var pool = pool("ab", runs: 2)
    let connection = try #require(take(&pool))
    let closed = names(pool.removeIdle())
    #expect(closed == "a" && take(&pool) === connection)
    #expect(end(connection, &pool) == nil)
    pool.remove(connection)
    #expect(take(&pool) == nil)
  }
}
