import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// The Destination field of MOVE and COPY follows the path rules (T12) and is rewritten to the upstream's URL.
@Suite(.inProcess) struct DestinationFieldTests {
  private static let rules = "rules: [{ match: /private/**, deny: true }, { match: \"/**\" }]"

  private func ask(_ stage: Stage, _ method: String, to destination: String, _ fields: String = "") throws
    -> LocalClient.Response
  {
    let port = try stage.daemon!.port()
    let destination = destination.replacing("HERE", with: "http://localhost:\(port)")
    return try stage.request(
      "\(method) /api/a HTTP/1.1\r\nHost: HOST\r\nDestination: \(destination)\r\n"
        + fields.replacing("HERE", with: "http://localhost:\(port)") + "\r\n")
  }

  @Test func `T12: an allowed Destination is forwarded as a URL of the upstream`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: Self.rules))
    #expect(try ask(stage, "MOVE", to: "HERE/api/b%20c", "If: <HERE/api/a> (<urn:uuid:1>)\r\n").status == 200)
    #expect(try ask(stage, "COPY", to: "/api/b").status == 200)
    #expect(stage.recorded.contains("Destination: \(stage.origin)/base/b%20c\r\n"))
    #expect(stage.recorded.contains("If: <\(stage.origin)/base/a> (<urn:uuid:1>)\r\n"))
    #expect(stage.recorded.contains("Destination: /base/b\r\n"))
    stage.assertCanary(times: 2)
  }

  @Test func `T12: a Destination that is denied, invalid or elsewhere is refused, and nothing is sent`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: Self.rules))
    for destination in [
      "HERE/api/private/b", "/api/private/b", "private/b", "HERE/api/%70rivate/b", "/api/private%2Fb", "HERE/b",
      "https://localhost:\(stage.upstream.port)/base/b", "http://evil.test/api/b",
    ] {
      let response = try ask(stage, "MOVE", to: destination)
      #expect(
        response.status == 403 && response.text.contains("urn:bearerd:error:destination-denied"), "\(destination)")
    }
    let tagged = try ask(stage, "MOVE", to: "/api/b", "If: <HERE/api/private/b> ([\"x\"])\r\n")
    #expect(tagged.text.contains("urn:bearerd:error:destination-denied"))
    for destination in ["/api/../b", "HERE/api/b#f", ""] {
      let response = try ask(stage, "COPY", to: destination)
      #expect(response.status == 400 && response.text.contains("urn:bearerd:error:bad-destination"), "\(destination)")
    }
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }
}
