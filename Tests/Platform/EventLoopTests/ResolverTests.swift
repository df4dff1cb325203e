import EventLoop
import Glibc
import Testing

/// Numeric names stand for real ones: they go through getaddrinfo and a thread as any name does, but ask no name server.
@Suite struct ResolverTests {
  let loop: Loop
  let resolver: Resolver

  init() throws {
    loop = try Loop()
    resolver = Resolver(loop: loop)
  }

  @Test(arguments: ["localhost", "LocalHost", "localhost.", "api.localhost", "a.b.LOCALHOST."])
  func `localhost is both families, and nobody is asked`(_ name: String) {
    var answers: [Result<[SocketAddress], UVError>] = []
    resolver.resolve(name, port: 80) { answers.append($0) }
    #expect(answers.isEmpty)
    #expect(resolver.inFlight == 0)
    loop.run()
    #expect(answers.count == 1)
    #expect((try? answers[0].get())?.map(\.description) == ["127.0.0.1:80", "[::1]:80"])
  }

  @Test func `lookups of one name are joined, each answered once with its own port`() throws {
    var answers: [[SocketAddress]] = []
    for port in 1...3 {
      resolver.resolve("127.0.0.7", port: UInt16(port)) { answers.append((try? $0.get()) ?? []) }
    }
    #expect(resolver.inFlight == 1)
    #expect(answers.isEmpty)
    loop.run()
    #expect(answers == (1...3).map { [SocketAddress(ip: [127, 0, 0, 7], port: $0)] })
    #expect(resolver.inFlight == 0)
  }

  @Test func `lookups in flight are capped, and the others follow`() {
    var answered = Set<Int>()
    var most = 0
    var limits = Resolver.Limits()
    limits.all = 8
    let resolver = Resolver(loop: loop, limits: limits)
    for host in 1...50 {
      resolver.resolve("127.0.0.\(host)", port: 1) { _ in
        #expect(answered.insert(host).inserted)
        most = max(most, resolver.inFlight)
      }
      most = max(most, resolver.inFlight)
    }
    loop.run()
    #expect(answered.count == 50)
    #expect(most == 8)
  }

  @Test func `T55: names that were slow leave room for others`() throws {
    var limits = Resolver.Limits()
    limits.all = 4
    limits.slow = 1
    limits.slowness = 0  // every name is, once it was looked up
    let resolver = Resolver(loop: loop, limits: limits)
    var answered = 0
    for host in 1...4 { resolver.resolve("127.0.0.\(host)", port: 1) { _ in answered += 1 } }
    #expect(resolver.inFlight == 4)
    loop.run()
    #expect(answered == 4)
    for host in 1...4 { resolver.resolve("127.0.0.\(host)", port: 1) { _ in answered += 1 } }
    #expect(resolver.inFlight == 1)
    for host in 5...7 { resolver.resolve("127.0.0.\(host)", port: 1) { _ in answered += 1 } }
    #expect(resolver.inFlight == 4)
    loop.run()
    #expect(answered == 11)
    #expect(resolver.inFlight == 0)
  }

  @Test func `T55: a name that was quick before has room while all others hang`() throws {
    var limits = Resolver.Limits()
    limits.all = 2
    limits.known = 1
    let resolver = Resolver(loop: loop, limits: limits)
    var answered: [Int] = []
    func ask(_ host: Int) { resolver.resolve("127.0.0.\(host)", port: 1) { _ in answered.append(host) } }
    for host in 1...2 { ask(host) }
    loop.run()
    for host in 11...14 { ask(host) }
    #expect(resolver.inFlight == 2)
    ask(1)
    #expect(resolver.inFlight == 3, "it does not wait for them")
    ask(2)
    #expect(resolver.inFlight == 3, "but there is an end to that, too")
    loop.run()
    #expect(answered.sorted() == [1, 1, 2, 2, 11, 12, 13, 14])
    #expect(resolver.inFlight == 0)
  }

  @Test func `a completion may ask again`() {
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

  /// Refused by libuv or getaddrinfo before anybody is asked.
  @Test(arguments: [String(repeating: "a", count: 300), "a..b", ""])
  func `what is no name fails later, once`(_ name: String) {
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
