import EventLoop
import Glibc
import Testing

/// The tests look up IP addresses. `getaddrinfo` resolves them on a thread like host names, but without a name server.
@Suite struct ResolverTests {
  let loop: Loop
  let resolver: Resolver

  init() throws {
    loop = try Loop()
    resolver = Resolver(loop: loop)
  }

  @Test(arguments: ["localhost", "LocalHost", "localhost.", "api.localhost", "a.b.LOCALHOST."])
  func `localhost resolves to both loopback addresses without a lookup`(_ name: String) {
    var results: [Result<[SocketAddress], UVError>] = []
    resolver.resolve(name, port: 80) { results.append($0) }
    #expect(results.isEmpty)
    #expect(resolver.inFlight == 0)
    loop.run()
    #expect(results.count == 1)
    #expect((try? results[0].get())?.map(\.description) == ["127.0.0.1:80", "[::1]:80"])
  }

  @Test func `lookups of the same name are shared, and each caller gets its own port`() throws {
    var results: [[SocketAddress]] = []
    for port in 1...3 {
      resolver.resolve("127.0.0.7", port: UInt16(port)) { results.append((try? $0.get()) ?? []) }
    }
    #expect(resolver.inFlight == 1)
    #expect(results.isEmpty)
    loop.run()
    #expect(results == (1...3).map { [SocketAddress(ip: [127, 0, 0, 7], port: $0)] })
    #expect(resolver.inFlight == 0)
  }

  @Test func `the number of concurrent lookups is limited, and further lookups wait`() {
    var resolved = Set<Int>()
    var most = 0
    var limits = Resolver.Limits()
    limits.all = 8
    let resolver = Resolver(loop: loop, limits: limits)
    for host in 1...50 {
      resolver.resolve("127.0.0.\(host)", port: 1) { _ in
        #expect(resolved.insert(host).inserted)
        most = max(most, resolver.inFlight)
      }
      most = max(most, resolver.inFlight)
    }
    loop.run()
    #expect(resolved.count == 50)
    #expect(most == 8)
  }

  @Test func `T55: names that were slow cannot use all lookup slots`() throws {
    var limits = Resolver.Limits()
    limits.all = 4
    limits.slow = 1
    limits.slowThreshold = 0  // every name counts as slow after its first lookup
    let resolver = Resolver(loop: loop, limits: limits)
    var resolved = 0
    for host in 1...4 { resolver.resolve("127.0.0.\(host)", port: 1) { _ in resolved += 1 } }
    #expect(resolver.inFlight == 4)
    loop.run()
    #expect(resolved == 4)
    for host in 1...4 { resolver.resolve("127.0.0.\(host)", port: 1) { _ in resolved += 1 } }
    #expect(resolver.inFlight == 1)
    for host in 5...7 { resolver.resolve("127.0.0.\(host)", port: 1) { _ in resolved += 1 } }
    #expect(resolver.inFlight == 4)
    loop.run()
    #expect(resolved == 11)
    #expect(resolver.inFlight == 0)
  }

  @Test func `T55: a name that was fast before has a slot while other lookups hang`() throws {
    var limits = Resolver.Limits()
    limits.all = 2
    limits.knownFast = 1
    let resolver = Resolver(loop: loop, limits: limits)
    var resolved: [Int] = []
    func ask(_ host: Int) { resolver.resolve("127.0.0.\(host)", port: 1) { _ in resolved.append(host) } }
    for host in 1...2 { ask(host) }
    loop.run()
    for host in 11...14 { ask(host) }
    #expect(resolver.inFlight == 2)
    ask(1)
    #expect(resolver.inFlight == 3, "the known name does not wait for slow lookups")
    ask(2)
    #expect(resolver.inFlight == 3, "the additional slots are limited, too")
    loop.run()
    #expect(resolved.sorted() == [1, 1, 2, 2, 11, 12, 13, 14])
    #expect(resolver.inFlight == 0)
  }

  @Test func `the completion of a lookup may start another lookup`() {
    var count = 0
    func ask() {
      resolver.resolve("127.0.0.9", port: 1) { _ in
        count += 1
        if count < 3 { ask() }
      }
    }
    ask()
    loop.run()
    #expect(count == 3)
  }

  /// libuv or `getaddrinfo` refuses these names without a query.
  @Test(arguments: [String(repeating: "a", count: 300), "a..b", ""])
  func `an invalid name fails asynchronously, once per lookup`(_ name: String) {
    var errors: [UVError] = []
    for _ in 0..<2 {
      resolver.resolve(name, port: 1) {
        if case .failure(let error) = $0 { errors.append(error) }
      }
    }
    #expect(errors.isEmpty)
    loop.run()
    #expect(errors.count == 2)
    #expect(resolver.inFlight == 0)
  }
}
