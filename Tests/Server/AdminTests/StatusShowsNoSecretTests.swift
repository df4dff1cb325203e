import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct StatusShowsNoSecret {
  private func ask(_ stage: Stage, _ command: String = "status") throws -> String {
    let client = try LocalClient(unix: stage.scratch.path + "/control.sock")
    try client.send(command + "\n")
    while try !client.isAtEnd() { try client.drain() }
    let text = String(decoding: client.received, as: UTF8.self)
    #expect(text.hasPrefix("ok\n"))
    for form in Stage.encodings(of: stage.canary) { #expect(!text.contains(form)) }
    return String(text.dropFirst(3))
  }

  private func status(_ stage: Stage) throws -> [String: Any] {
    let text = try ask(stage)
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  private func credential(_ stage: Stage) throws -> [String: Any] {
    try #require((try status(stage)["credentials"] as? [[String: Any]])?.first)
  }

  @Test func `the fingerprint changes only when the secret changes`() throws {
    let stage = try Stage()
    try stage.start()
    let before = try credential(stage)
    #expect(before["available"] as? Bool == true && before["generation"] as? Int == 1)
    try stage.reload(stage.configuration())
    #expect(try credential(stage)["fingerprint"] as? String == before["fingerprint"] as? String)
    try stage.scratch.write("canary.token", "CANARY-another\n")
    #expect(stage.log.wait(for: .credentialChanged))
    let after = try credential(stage)
    #expect(after["fingerprint"] as? String != before["fingerprint"] as? String)
    #expect(after["generation"] as? Int == 2)
    #expect(!(try ask(stage)).contains("CANARY"))
    try stage.scratch.write("canary.token", stage.canary + "\n")
    #expect(stage.log.wait(for: .credentialChanged, count: 2))
    #expect(try credential(stage)["fingerprint"] as? String == before["fingerprint"] as? String)
    stage.assertCanary(times: 0)
  }

  @Test func `the status shows requests, refusals and a failed reload, without the paths of requests`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "rules: [{ match: /x }]"))
    #expect(try stage.get().status == 200)
    #expect(try stage.get("/api/MARK").status == 403)
    try stage.reload("services: [")
    let status = try status(stage)
    let service = try #require((status["services"] as? [[String: Any]])?.first)
    #expect(service["name"] as? String == "api" && service["at"] as? String == "/api/")
    #expect(service["requests"] as? Int == 2 && service["refusals"] as? Int == 1 && service["pins"] as? Int == 2)
    #expect(
      service["last_status"] as? Int == 403 && service["last_success"] is Int && service["last_failure"] is NSNull)
    #expect((service["response_head"] as? [Int])?.reduce(0, +) == 1)
    let refusal = try #require((status["recent_refusals"] as? [[String: Any]])?.first)
    #expect(refusal["code"] as? String == "no-rule" && refusal["service"] as? String == "api")
    let credential = try credential(stage)
    #expect(credential["accepted"] as? Int == 1 && credential["last_accepted"] is Int)
    let configuration = try #require(status["configuration"] as? [String: Any])
    #expect(configuration["file"] as? String == stage.daemon!.file && configuration["generation"] as? Int == 1)
    #expect((configuration["last_reload"] as? [String: Any])?["problem"] is String)
    #expect(!(try ask(stage)).contains("MARK"))
    stage.assertCanary(times: 1)
  }

  @Test func `the status names the missing file of a credential`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration().replacing("canary.token", with: "missing.token"))
    let credential = try credential(stage)
    #expect(credential["available"] as? Bool == false && credential["fingerprint"] is NSNull)
    #expect((credential["problem"] as? String)?.contains("missing.token does not exist") == true)
    stage.assertCanary(times: 0)
  }

  @Test func `the control socket returns the metrics`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get().status == 200)
    let text = try PrometheusText(try ask(stage, "metrics"))
    #expect(try text.value("bearerd_requests_total", ["service": "api", "status": "2xx"]) == 1)
    stage.assertCanary(times: 1)
  }
}
