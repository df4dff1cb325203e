import Gateway
import Testing

@Suite struct KeepAliveTimeoutTests {
  @Test(
    arguments: [
      ("Keep-Alive: timeout=5", 5_000), ("keep-alive: max=100, TIMEOUT = \"7\"", 7_000), ("Keep-Alive: timeout=0", 0),
      ("Keep-Alive: timeout=99999999999999999999", 999_999_999_000),
      ("Keep-Alive: timeout=5\r\nKeep-Alive: timeout=3", 3_000),
      ("Keep-Alive: timeout=", nil), ("Keep-Alive: timeout", nil), ("Keep-Alive: timeout=-1", nil),
      ("Keep-Alive: x", nil),
      ("Keep-Alive: timeouts=5", nil), ("X-Keep-Alive: timeout=5", nil), ("Keep-Alive: ,=,timeout=x", nil),
    ] as [(String, UInt64?)])
  func `the idle timeout of an upstream connection is read from Keep-Alive`(field: String, time: UInt64?) throws {
    let played = exchange(get(), ok(field), try snapshot())
    #expect(played.box.machine.relay.exchange.announcedIdle == time)
    #expect(!played.response.lowercased().contains("\r\nkeep-alive"))
  }
}
