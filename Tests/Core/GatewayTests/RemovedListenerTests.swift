import Gateway
import HTTP1
import Policy
import Testing

@Suite struct RemovedListenerTests {
  private let old = ListenerID(number: 4)

  /// Returns a configuration with these listeners. The first listener has the service, and all listeners admit the
  /// caller.
  private func snapshot(_ listeners: [ListenerID], generation: UInt64 = 1) throws -> Snapshot {
    let base = try GatewayTests.snapshot(generation: generation)
    return Snapshot(
      generation: generation, rules: base.rules, admissions: listeners.map { _ in base.admissions[0] },
      headLimits: base.headLimits, ownAuthorities: base.ownAuthorities, listeners: listeners)
  }

  private func played() throws -> Conversation {
    var played = Conversation(try snapshot([old]))
    played.opensImmediately = false
    played.client(get())
    #expect(played.phase == .awaitingUpstream)
    return played
  }

  private func isRefused(_ played: Conversation) -> Bool {
    status(played.response) == "503" && played.response.contains("error:listener-removed\"")
      && played.records.count == 1
      && played.sessions.isEmpty && played.isOver
  }

  @Test func `T47: a waiting request of a removed listener is refused once, and the connection ends`() throws {
    var played = try played()
    played.apply { $0.listenerRemoved(output: &$1) }
    #expect(isRefused(played) && played.records.first?.route != nil, "\(played.response)")
    played.client(get())
    #expect(played.records.count == 1)
  }

  @Test func `T47: requests of a removed listener are refused, even if another listener has its index`() throws {
    var played = try played()
    let new = try snapshot([ListenerID(number: 5), ListenerID(number: 6)], generation: 2)
    played.apply { $0.configurationChanged(new, output: &$1) }
    #expect(isRefused(played), "\(played.response)")
  }

  @Test func `T47: a listener that has moved in the file keeps its requests`() throws {
    var played = try played()
    let new = try snapshot([ListenerID(number: 5), old], generation: 2)
    played.apply { $0.configurationChanged(new, output: &$1) }
    // The service belongs to the first listener, which is now another one.
    #expect(status(played.response) == "404" && played.records.count == 1)
  }

  @Test func `T47: a running exchange of a removed listener is no longer allowed`() throws {
    let played = exchange(get(), nil, try snapshot([old]))
    #expect(played.isStillAllowed(by: try snapshot([old], generation: 2)))
    #expect(!played.isStillAllowed(by: try snapshot([ListenerID(number: 5)], generation: 2)))
  }

  @Test func `T47: removing a listener refuses an incomplete head`() throws {
    var half = Conversation(try snapshot([old]))
    half.client("GET /api/x HTTP/1.1\r\nHo")
    half.apply { $0.listenerRemoved(output: &$1) }
    #expect(isRefused(half))
  }

  @Test func `T46: a value of one configuration is not valid in another`() {
    let grant = ConfigurationScoped(3, generation: 7)
    #expect(grant.value(inGeneration: 7) == 3 && grant.value(inGeneration: 8) == nil)
  }
}
