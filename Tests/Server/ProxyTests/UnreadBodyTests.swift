import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// An upstream that does not read a body takes it for the next request. No caller may get the response to it (T62).
@Suite(.inProcess) struct UnreadBodyTests {
  private static let inner = "DELETE /base/admin HTTP/1.1\r\nHost: x\r\n\r\n"

  private func ask(_ stage: Stage, _ method: String, _ path: String, body: String) throws {
    let client = try stage.client()
    try client.send(stage.head(method, path, fields: "Content-Length: \(body.utf8.count)\r\n") + body)
    #expect(try client.response().status == 200)
  }

  @Test func `T62: after a GET or DELETE with a body the next request uses another connection`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration())
    try ask(stage, "POST", "/api/0", body: Self.inner)
    try ask(stage, "GET", "/api/1", body: Self.inner)
    #expect(stage.upstream.records.count == 1, "what is in use already may be used for it")
    try ask(stage, "GET", "/api/2", body: "")
    try ask(stage, "DELETE", "/api/3", body: Self.inner)
    try ask(stage, "POST", "/api/4", body: Self.inner)
    #expect(stage.upstream.records.count == 3, "connections")
    #expect(stage.recorded.components(separatedBy: "\r\nConnection: close\r\n").count == 3, "\(stage.recorded)")
    stage.assertCanary(times: 5)
  }

  @Test func `T62: with reuse_after_body: false a POST's connection is not reused`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "reuse_after_body: false"))
    for path in ["/api/1", "/api/2"] { try ask(stage, "POST", path, body: Self.inner) }
    #expect(stage.upstream.records.count == 2, "connections")
    stage.assertCanary(times: 2)
  }
}
