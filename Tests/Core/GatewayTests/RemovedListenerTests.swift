import Gateway
import HTTP1
import Policy
import Testing

/// A reload removes, moves or keeps the listener of a connection (T47).
@Suite struct RemovedListenerTests {
  private let old = ListenerID(number: 4)

  /// A configuration whose listeners have these identities. The first of them has the service, and each of them admits the caller.
  private func snapshot(_ listeners: [ListenerID], generation: UInt64 = 1) throws -> Snapshot {
    let base = try GatewayTests.snapshot(generation: generation)
    return Snapshot(
      generation: generation, rules: base.rules, admissions: listeners.map { _ in base.admissions[0] },
      headLimits: base.headLimits, ownAuthorities: base.ownAuthorities, listeners: listeners)
  }

  private func played() throws -> Conversation {
    var played = Conversation(try snapshot([old]))
    played.opensAtOnce = false
    played.client(get())
    #expect(played.phase == .awaitingUpstream)
    return played
  }

  private func isRefused(_ played: Conversation) -> Bool {
    status(played.answer) == "503" && played.answer.contains("error:listener-removed\"") && played.records.count == 1
      && played.sessions.isEmpty && played.isOver
  }

  @Test func `T47: a request that waits is refused, has one record, and is the last`() throws {
    var played = try played()
    played.fact { $0.listenerRemoved(output: &$1) }
    #expect(isRefused(played) && played.records.first?.route != nil, "\(played.answer)")
    played.client(get())
    #expect(played.records.count == 1)
  }

  @Test func `T47: a configuration without the listener decides no request of it, whatever has its place now`() throws {
    var played = try played()
    let new = try snapshot([ListenerID(number: 5), ListenerID(number: 6)], generation: 2)
    played.fact { $0.configurationChanged(new, output: &$1) }
    #expect(isRefused(played), "\(played.answer)")
  }

  @Test func `T47: a listener that has moved in the file keeps its requests`() throws {
    var played = try played()
    let new = try snapshot([ListenerID(number: 5), old], generation: 2)
    played.fact { $0.configurationChanged(new, output: &$1) }
    // The service belongs to the listener that comes first in the file.
    #expect(status(played.answer) == "404" && played.records.count == 1)
  }

  @Test func `T47: a running exchange without its listener is no longer allowed`() throws {
    let played = exchange(get(), nil, try snapshot([old]))
    #expect(played.isStillAllowed(by: try snapshot([old], generation: 2)))
    #expect(!played.isStillAllowed(by: try snapshot([ListenerID(number: 5)], generation: 2)))
  }

  @Test func `T47: half a head is answered, and a connection between requests ends`() throws {
    var half = Conversation(try snapshot([old]))
    half.client("GET /api/x HTTP/1.1\r\nHo")
    half.fact { $0.listenerRemoved(output: &$1) }
    #expect(isRefused(half))
    var idle = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", try snapshot([old]))
    idle.fact { $0.listenerRemoved(output: &$1) }
    #expect(idle.phase == .closed && idle.records.count == 1)
  }

  @Test func `T46: a value of one configuration is none of another`() {
    let grant = ConfigurationScoped(3, generation: 7)
    #expect(grant.value(inGeneration: 7) == 3 && grant.value(inGeneration: 8) == nil)
  }
}
