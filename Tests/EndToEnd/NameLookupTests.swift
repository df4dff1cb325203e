import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Lookups of an upstream's name, with a name server of the test.
@Suite(.waits, .enabled(if: NameServer.isPossible, "needs root, and mounts"))
struct NameLookupTests {
  private func check(_ behavior: NameServer.Behavior, status: Int, code: String, error: String) throws {
    let stage = try Stage()
    let server = try NameServer(behavior, in: stage.scratch)
    defer { server.stop() }
    let text = stage.configuration(service: "timeouts: { connect: 700ms }")
      .replacing("https://localhost:", with: "https://upstream.invalid:")
    try stage.start(text, wrapper: server.wrapper)
    let response = try stage.get()
    #expect(response.status == status, "\(response.text)")
    #expect(response.values("Proxy-Status") == ["bearerd; error=\(error); details=\"\(code)\""])
    #expect(response.text.contains("\"help\":\"bearerctl errors \(code)\""), "\(response.text)")
    #expect(stage.log.wait(for: .request, ["refused": "\(code)"]))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `a name that does not exist is reported as name-not-found`() throws {
    try check(.notFound, status: 502, code: "name-not-found", error: "dns_error")
  }

  @Test func `a failure of the name server is reported as name-lookup-failed`() throws {
    try check(.failure, status: 502, code: "name-lookup-failed", error: "dns_error")
  }

  @Test func `a name server that does not respond is reported as name-timeout`() throws {
    try check(.silence, status: 504, code: "name-timeout", error: "dns_timeout")
  }

  @Test func `T55: lookups without a response delay neither other lookups nor the daemon's exit`() throws {
    let stage = try Stage()
    let server = try NameServer(.silenceAbout("hang"), in: stage.scratch)
    defer { server.stop() }
    let hanging = (0..<40).map { "  hang\($0): { upstream: \"https://hang\($0).invalid/\" }" }
    let services = hanging + ["  other: { upstream: \"https://other.invalid/\" }"]
    try stage.start(
      stage.configuration(
        more: "limits: { drain: 0s }\ntimeouts: { connect: 60s }", services: services.joined(separator: "\n")),
      wrapper: server.wrapper)
    let waiting = try (0..<40).map { number in
      let client = try stage.raw()
      try client.send(stage.head("GET", "/hang\(number)/x"))
      return client
    }
    // All lookups run at the same time.
    let tasks = "/proc/\(stage.daemon!.pid)/task"
    #expect(eventually { (try? FileManager.default.contentsOfDirectory(atPath: tasks).count) ?? 0 > 40 })
    for _ in 0..<20 {
      #expect(try stage.get("/other/x").text.contains("name-not-found"))
      #expect(try stage.get().status == 200)
    }
    for client in waiting { #expect(client.readWithoutWaiting().isEmpty) }
    var status: Int32 = -1
    #expect(seconds { status = stage.daemon!.stop() } < 15, "it waits for no name server")
    #expect(status == 0)
    stage.assertCanary(times: 20)
  }

  /// Loopback, and the metadata service of cloud providers.
  @Test(arguments: [NameServer.Behavior.address(127, 0, 0, 1), .address(169, 254, 169, 254)])
  func `T28: an address from DNS that is loopback or link-local is refused`(behavior: NameServer.Behavior) throws {
    try check(behavior, status: 502, code: "address-forbidden", error: "destination_ip_prohibited")
  }
}
