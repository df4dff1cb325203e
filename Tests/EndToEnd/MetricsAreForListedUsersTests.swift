import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

@Suite(.waits) struct MetricsAreForListedUsers {
  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T3: only listed users may read the metrics`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "metrics: { address: localhost:0, allow_users: [12345] }"))
    let port = try stage.daemon!.port("metrics")
    let script = """
      my $s = IO::Socket::INET->new("localhost:\(port)") or exit 3;
      print $s "GET /metrics HTTP/1.0\\r\\nHost: localhost:\(port)\\r\\n\\r\\n"; $s->flush; local $/; print scalar <$s>;
      """
    let perl = ["perl", "-MIO::Socket::INET", "-e", script]
    #expect(try run(Stage.user(12_345) + perl).output.hasPrefix("HTTP/1.1 200 "))
    #expect(try run(Stage.user(12_346) + perl).output.hasPrefix("HTTP/1.1 403 "))
    // A user who may use the services may not read the metrics.
    #expect(try run(perl).output.hasPrefix("HTTP/1.1 403 "))
    #expect(stage.log.contains(.request, ["help": .naming("metrics", "allow_users: [12345, ")]))
    stage.assertCanary(times: 0)
  }
}
