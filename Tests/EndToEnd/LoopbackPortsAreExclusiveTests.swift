import StatusModel
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// bearerd listens only on loopback addresses, and on both the IPv4 and the IPv6 address.
@Suite(.waits) struct LoopbackPortsAreExclusive {
  @Test(.enabled(if: isRoot, "makes a network without IPv6"))
  func `T5: the daemon listens only on IPv4 if the machine has no IPv6, and logs the address`() throws {
    func wrapper(_ switchedOff: String) -> [String] {
      let script = "ip link set lo up && echo \(switchedOff) > /proc/sys/net/ipv6/conf/all/disable_ipv6 && exec \"$@\""
      return ["/usr/bin/env", "unshare", "--net", "sh", "-c", script, "sh"]
    }
    for (switchedOff, host) in [("0", "localhost"), ("1", "127.0.0.1")] {
      guard (try? run(wrapper(switchedOff) + ["true"]))?.status == 0 else { return }
      let stage = try Stage()
      let daemon = try stage.start(wrapper: wrapper(switchedOff))
      let port = try daemon.port()
      #expect(daemon.log.contains(.listening, ["listener": "main", "address": "\(host):\(port)"]))
      // State 0A means that the socket listens.
      let wanted = String(repeating: "0", count: 24) + "01000000:" + String(port, radix: 16, uppercase: true)
      let sockets = try run(["cat", "/proc/\(daemon.pid)/net/tcp6"]).output.split(separator: "\n")
      #expect(sockets.contains { $0.contains(wanted) && $0.contains(" 0A ") } == (switchedOff == "0"))
      let response = try stage.sendRequest(as: ["nsenter", "--net=/proc/\(daemon.pid)/ns/net"], target: "/nowhere")
      #expect(response.output.hasPrefix("HTTP/1.1 404 "), "\(response)")
      stage.assertCanary(times: 0)
    }
  }
}
