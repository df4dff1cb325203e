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
  struct Row: CustomTestStringConvertible {
    let behavior: NameServer.Behavior
    let code: String
    let error: String
    var status = 502
    var testDescription: String { "\(behavior): \(code)" }
  }

  static let rows = [
    Row(behavior: .notFound, code: "name-not-found", error: "dns_error"),
    Row(behavior: .failure, code: "name-lookup-failed", error: "dns_error"),
    Row(behavior: .silence, code: "name-timeout", error: "dns_timeout", status: 504),
    // Loopback, and the metadata service of cloud providers.
    Row(behavior: .address(127, 0, 0, 1), code: "address-forbidden", error: "destination_ip_prohibited"),
    Row(behavior: .address(169, 254, 169, 254), code: "address-forbidden", error: "destination_ip_prohibited"),
  ]

  @Test(arguments: rows)
  func `T28: a lookup that fails, or that returns a loopback or link-local address, is reported`(row: Row) throws {
    let stage = try Stage()
    let server = try NameServer(row.behavior, in: stage.scratch)
    defer { server.stop() }
    let text = stage.configuration(service: "timeouts: { connect: 700ms }")
      .replacing("https://localhost:", with: "https://upstream.invalid:")
    try stage.start(text, wrapper: server.wrapper)
    let response = try stage.get()
    #expect(response.status == row.status, "\(response.text)")
    #expect(response.values("Proxy-Status") == ["bearerd; error=\(row.error); details=\"\(row.code)\""])
    #expect(response.text.contains("\"help\":\"bearerctl errors \(row.code)\""), "\(response.text)")
    #expect(stage.log.wait(for: .request, ["refused": "\(row.code)"]))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
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
}
