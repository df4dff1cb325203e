import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// `discovery: true`: a program asks which services it may use.
@Suite(.inProcess) struct CallersDiscoverTheirServices {
  private func services(_ response: LocalClient.Response) throws -> [[String: Any]] {
    let object = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
    return object?["services"] as? [[String: Any]] ?? []
  }

  @Test func `a client learns the services that it may use, and what a person has to run`() throws {
    let stage = try Stage()
    let pins = "[\(stage.leaf.pin), \(stage.backup.pin)]"
    let upstream = "upstream: \"\(stage.origin)/\", ca_file: ca.pem, pins: \(pins)"
    let services = """
        mine: { \(upstream), credential: person }
        other: { \(upstream), credential: none, allow_clients: [dev] }
        well: { at: /.well-known/, \(upstream), credential: none, allow_clients: [dev] }
      """
    let login =
      "oauth2: { grant: device_code, token_url: \"\(stage.origin)/t\", device_authorization_url: \"\(stage.origin)/d\", client_id: i, store: person.login, ca_file: ca.pem, pins: \(pins) }"
    let text = stage.configuration(
      listener: "address: localhost:0\n    discovery: true\n    clients: \(ClientTokens.both)", services: services
    ).replacing("services:\n", with: "  person: { origins: [\"\(stage.origin)\"], \(login) }\nservices:\n")
    try stage.start(text)
    #expect(stage.log.wait(for: .loginRequired, ["credential": "person"]))
    let path = "/.well-known/bearerd"
    let ci = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    let response = try stage.get(path, fields: ci)
    #expect(response.status == 200 && response.values("cache-control") == ["no-store"])
    #expect(response.values("content-type") == ["application/json"])
    let found = try self.services(response)
    #expect(found.map { $0["name"] as? String } == ["api", "mine"])
    let port = try stage.daemon!.port()
    #expect(found.map { $0["url"] as? String } == ["http://localhost:\(port)/api/", "http://localhost:\(port)/mine/"])
    let credentials = found.flatMap { $0["credentials"] as? [[String: Any]] ?? [] }
    #expect(credentials.map { $0["available"] as? Bool } == [true, false])
    #expect(credentials.map { $0["run"] as? String } == [nil, "bearerctl login person"])
    for hidden in [stage.scratch.path, "canary.token", "upstream", stage.origin, "sha256"] {
      #expect(!response.text.contains(hidden))
    }
    let dev = try stage.get(path, fields: "X-Api-Key: \(ClientTokens.dev.text)\r\n")
    #expect(try self.services(dev).map { $0["name"] as? String } == ["api", "mine", "other", "well"])

    let head = try stage.request("HEAD \(path) HTTP/1.1\r\nHost: HOST\r\n\(ci)\r\n")
    #expect(head.status == 200 && head.values("content-length") == ["\(response.body.count)"])
    #expect(try stage.get(path).text.contains("error:client-unknown\""))
    #expect(try stage.get(path, fields: ci + "Origin: https://evil.test\r\n").status == 403)
    #expect(stage.log.wait(for: .request, ["status": "200", "path": "\(path)"]))
    #expect(stage.recorded.isEmpty)

    // Without the key, the service at /.well-known/ gets the request.
    try stage.reload(text.replacing("    discovery: true\n", with: ""))
    #expect(try stage.get(path, fields: "X-Api-Key: \(ClientTokens.dev.text)\r\n").text == "hello")
    #expect(try stage.get(path, fields: ci).status == 403)
    stage.assertCanary(times: 0)
  }
}
