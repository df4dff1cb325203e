import Configuration
import EventLoop
import Policy
import ServerSupport
import Settings
import Testing

@testable import Proxy

@Suite struct ListenerSocketsTests {
  @Test(.enabled(if: LocalClient.hasIPv6)) func `with port 0 a listener finds a port that is free in both families`()
    throws
  {
    // So many ports that the system soon chooses one of them for 127.0.0.1.
    let taken = (0..<1_000).compactMap { _ in Squatting(.loopback6, port: 0) }
    #expect(taken.count == 1_000)
    let settings = ListenerSettings(
      name: "main", addresses: Array(repeating: .localhost(port: 0), count: 150), callers: Callers(uids: []),
      admission: "listeners.main", extraAuthorities: [])
    let loop = try Loop()
    let sockets = try ListenerSockets(settings, inherited: InheritedSockets([]), file: "bearerd.yaml", loop: loop)
    #expect(sockets.ports.count == 300)
    sockets.close()
  }
}
