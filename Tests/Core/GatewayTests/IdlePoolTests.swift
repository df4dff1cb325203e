import Testing

@testable import Gateway

/// The pool of idle connections of one identity (T25). Letters stand for connections.
@Suite struct IdlePoolTests {
  typealias Pool = IdlePool<Character>

  /// - Parameter names: idle connections in the order of their return. Capital letters have carried a credential.
  private func pool(_ names: String, limit: Int = 10) -> Pool {
    var pool = Pool()
    for name in names {
      let epoch = pool.opened()
      #expect(pool.keep(entry(name), of: epoch, limit: limit, time: 60) != nil)
    }
    return pool
  }

  private func entry(_ name: Character, from: Int64 = .min, until: Int64 = .max) -> Pool.Entry {
    Pool.Entry(name, hasCarriedCredential: name.isUppercase, validFrom: from, validUntil: until)
  }

  private func take(_ pool: inout Pool, _ choice: Pool.Choice = .any, at now: Int64 = 0) -> Character? {
    var expired: [Character] = []
    defer { #expect(expired == []) }
    return pool.acquire(choice, at: now, expired: &expired)
  }

  @Test func `the most recently used connection is reused first`() {
    var pool = pool("abc")
    #expect(take(&pool) == "c" && take(&pool) == "b" && pool.idle == ["a"] && pool.count == 3)
    pool.closed()
    #expect(take(&pool) == "a" && take(&pool) == nil && pool.count == 2)
  }

  @Test(arguments: [
    ("aBc", Pool.Choice.neverAuthenticated, "c", "aB"), ("aBC", .neverAuthenticated, "a", "BC"),
    ("aBc", .authenticatedFirst, "B", "ac"), ("abc", .authenticatedFirst, "c", "ab"), ("aBc", .any, "c", "aB"),
  ])
  func `a request without a credential gets no connection that has carried a credential`(
    _ names: String, _ choice: Pool.Choice, _ taken: Character, _ left: String
  ) {
    var pool = pool(names)
    #expect(take(&pool, choice) == taken && pool.idle == Array(left))
  }

  @Test func `a request without a credential gets none if all connections have carried a credential`() {
    var pool = pool("AB")
    #expect(take(&pool, .neverAuthenticated) == nil && pool.idle == ["A", "B"])
  }

  @Test func `T40: idle connections whose certificates are expired or not yet valid are closed`() {
    var pool = pool("a")
    for (name, from, until) in [("b", 0, 100), ("c", 200, 300), ("d", 50, 60)] as [(Character, Int64, Int64)] {
      #expect(pool.keep(entry(name, from: from, until: until), of: pool.opened(), limit: 9, time: 1) != nil)
    }
    var expired: [Character] = []
    #expect(pool.acquire(.any, at: 100, expired: &expired) == "a" && expired == ["d", "c", "b"])
  }

  @Test func `connections beyond the limit are kept half as long, and a limit of 0 keeps none`() {
    var pool = pool("ab", limit: 2)
    #expect(pool.keep(entry("c"), of: 0, limit: 2, time: 60) == 30 && pool.idle == ["a", "b", "c"])
    #expect(pool.keep(entry("d"), of: 0, limit: 0, time: 60) == nil)
  }

  @Test func `T46: connections from before an invalidation, or after the pool's end, are not kept`() {
    var pool = pool("ab")
    let before = pool.opened()
    #expect(pool.invalidate() == ["a", "b"] && pool.idle == [])
    #expect(pool.keep(entry("c"), of: before, limit: 9, time: 60) == nil)
    let after = pool.opened()
    #expect(pool.keep(entry("d"), of: after, limit: 9, time: 60) == 60)
    #expect(pool.retire() == ["d"] && pool.isRetired)
    #expect(pool.keep(entry("e"), of: after, limit: 9, time: 60) == nil)
  }

  @Test func `a connection that ends while idle is removed`() {
    var pool = pool("abc")
    pool.remove { $0 == "b" }
    pool.remove { $0 == "x" }
    #expect(pool.idle == ["a", "c"])
    #expect(pool.removeIdle() == ["a", "c"] && take(&pool) == nil)
  }
}
