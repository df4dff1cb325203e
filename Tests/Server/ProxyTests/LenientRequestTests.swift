import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// Requests that work without bearerd also work with it. Other requests get a precise error.
@Suite(.inProcess) struct LenientRequestTests {
  private func problem(_ response: LocalClient.Response) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]) ?? [:]
  }

  @Test func `T12: bytes that are invalid in a URL are escaped, sent and logged in escaped form`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get("/api/файл/[id].tsx?q=münchen&{a}|b").status == 200)
    let path = "%D1%84%D0%B0%D0%B9%D0%BB/%5Bid%5D.tsx"
    #expect(stage.recorded.contains("GET /base/\(path)?q=m%C3%BCnchen&%7Ba%7D%7Cb HTTP/1.1\r\n"))
    #expect(stage.log.wait(for: .request, ["path": "/api/\(path)", "status": 200]))
    stage.assertCanary(times: 1)
  }

  @Test func `T12: an escaped backslash counts as a separator, and a plain backslash is refused`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "rules: [{ match: /a/b, deny: true }, { match: \"/**\" }]"))
    #expect(try stage.get("/api/x%5cy").status == 200)
    #expect(stage.recorded.contains("GET /base/x%5Cy HTTP/1.1\r\n"))
    #expect(problem(try stage.get("/api/a%5Cb"))["type"] as? String == "urn:bearerd:error:ambiguous-path")
    let refused = problem(try stage.get("/api/a\\b"))
    #expect(refused["character"] as? String == "backslash" && refused["escape"] as? String == "%5C")
    #expect(refused["position"] as? Int == 7)
    #expect(
      stage.log.wait(
        for: .request,
        ["refused": "forbidden-character", "detail": "backslash at byte 7 of the target (its escape is %5C)"]))
    stage.assertCanary(times: 1)
  }

  @Test func `an error response names the problem, its position and the configuration key`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { fields: 16 }"))
    let twice = problem(try stage.request("GET /api/x HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n"))
    #expect(twice["reason"] as? String == "duplicateHost" && twice["line"] as? Int == 3)
    #expect(stage.log.wait(for: .request, ["reason": "duplicateHost", "detail": "line 3"]))
    let many = problem(try stage.get(fields: String(repeating: "X: y\r\n", count: 16)))
    #expect(many["reason"] as? String == "tooManyFields" && many["key"] as? String == "limits.fields")
    #expect(many["limit"] as? Int == 16)
    let spaced = problem(try stage.get("/api/a b"))
    #expect(spaced["character"] as? String == "space" && spaced["position"] as? Int == 7)
    stage.assertCanary(times: 0)
  }

  @Test func `T1: a listener accepts any loopback name with any port, and no other name`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(
        services: """
            own:
              at: localhost:0
              upstream: \(stage.origin)/own/
              ca_file: ca.pem
              credential: canary
          """))
    let hosts = [
      "localhost:20100", "LocalHost", "localhost.", "127.5.6.7", "127.0.0.1:1", "[::1]", "[::ffff:127.0.0.1]",
    ]
    for host in hosts {
      #expect(try stage.request("GET /api/x HTTP/1.1\r\nHost: \(host)\r\n\r\n").status == 200, "\(host)")
    }
    let own = try stage.daemon!.port("services/own")
    let port = try stage.daemon!.port()
    for host in ["localhost:\(own)", "evil.test:\(port)", "0.0.0.0", "localhost.evil.test", "10.0.0.1"] {
      let response = try stage.request("GET /api/x HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(response.status == 421 && response.text.contains("host-not-allowed"), "\(host)")
    }
    // A service with its own port accepts only this port.
    let rows = [("localhost:\(own)", 200), ("127.5.6.7:\(own)", 200), ("localhost:20100", 421), ("localhost", 421)]
    for (host, status) in rows {
      let client = try stage.client("services/own")
      try client.send("GET /x HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(try client.response().status == status, "\(host)")
    }
    stage.assertCanary(times: hosts.count + 2)
  }

  @Test func `T2: the origin of a page is also checked through a tunnel`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(
        listener: "address: localhost:0\n    browsers: { origins: [\"app://obsidian.md\", \"http://localhost:3000\"] }")
    )
    func ask(_ host: String, _ fields: String) throws -> LocalClient.Response {
      try stage.request("GET /api/x HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n\r\n")
    }
    let listed = try ask("localhost:20100", "Origin: app://obsidian.md")
    #expect(listed.status == 200 && listed.values("Access-Control-Allow-Origin") == ["app://obsidian.md"])
    #expect(try ask("localhost:20100", "Origin: http://localhost:20100").status == 403)
    // A page at this origin comes from bearerd, through the tunnel.
    for host in ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "localhost.:3000"] {
      #expect(try ask(host, "Origin: http://localhost:3000").status == 403, "\(host)")
    }
    #expect(try ask("localhost:20100", "Sec-Fetch-Site: same-origin").status == 403)
    let other = try ask("localhost:20100", "Origin: chrome-extension://abc")
    #expect(
      problem(other)["add"] as? String == "browsers: { origins: [chrome-extension://abc] }" && other.status == 403)
    #expect(
      stage.log.wait(for: .request, ["refused": "origin-not-allowed", "help": .naming("chrome-extension://abc")]))
    stage.assertCanary(times: 1)
  }

  @Test func `T45: the log names everything that was removed from a request`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "remove_headers: [X-Trace]\nremove_parameters: [debug]"))
    let fields =
      "Proxy: http://evil.test\r\nX-Trace: 1\r\nUpgrade: h2c\r\nConnection: upgrade\r\nsudo: root\r\n"
    #expect(try stage.get("/api/x?debug=1&a=b", fields: fields).status == 200)
    #expect(stage.log.wait(for: .request, ["removed": "sudo,proxy,upgrade,x-trace,debug"]))
    #expect(!stage.recorded.contains("evil.test"))
    // These fields are meant for the upstream.
    #expect(try stage.get(fields: "OpenAI-Organization: o\r\nOpenAI-Project: p\r\n").status == 200)
    #expect(stage.recorded.contains("\r\nOpenAI-Organization: o\r\nOpenAI-Project: p\r\n"))
    stage.assertCanary(times: 2)
  }
}
