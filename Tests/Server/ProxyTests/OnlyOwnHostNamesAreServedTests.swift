import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A web page cannot send requests through bearerd, even if its host name points to this machine.
@Suite(.inProcess) struct OnlyOwnHostNamesAreServed {
  /// Sends a request, and returns the status and the body of the response.
  private func status(_ stage: Stage, _ head: String) throws -> (Int, String) {
    let client = try stage.client()
    let port = String(try stage.daemon!.port())
    try client.send(head.replacing("PORT", with: port))
    let response = try client.response(isHead: head.hasPrefix("HEAD"))
    return (response.status, response.text)
  }

  @Test func `T1 T10: requests for bearerd's own host names are served, with the upstream's name in Host`() throws {
    let stage = try Stage()
    try stage.start()
    let host = "Host: localhost:PORT\r\n"
    let rows: [(target: String, fields: String)] = [
      ("/api/x", host), ("/api/x", "Host: LOCALHOST:PORT\r\n"), ("/api/x", "Host: 127.0.0.1:PORT\r\n"),
      ("/api/x", "Host: [::1]:PORT\r\n"), ("/api/x", "hOsT:\t localhost:PORT \r\n"),
      ("http://localhost:PORT/api/x", host), ("HTTP://LocalHost:PORT/api/x", host),
      ("http://127.0.0.1:PORT/api/x", host), ("http://localhost:PORT/api/x", "Host: 127.0.0.1:PORT\r\n"),
      ("/api/x?url=http://evil.test/", host), ("/api/x@evil.test", host),
    ]
    for (target, fields) in rows {
      #expect(try status(stage, "GET \(target) HTTP/1.1\r\n\(fields)\r\n").0 == 200, "\(target) \(fields)")
    }
    // Targets that begin with two slashes are paths.
    for target in ["//localhost:PORT/api/x", "///evil.test/api/x"] {
      #expect(try status(stage, "GET \(target) HTTP/1.1\r\n\(host)\r\n").0 == 404, "\(target)")
    }
    let hosts = stage.recorded.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("host:") }
    #expect(hosts == Array(repeating: "Host: localhost:\(stage.upstream.port)", count: rows.count))
    stage.assertCanary(times: rows.count)
  }

  @Test func `T2: programs that send single fields of a browser are served`() throws {
    let stage = try Stage()
    try stage.start()
    let rows = [
      "Sec-Fetch-Site: none\r\n", "Sec-Fetch-Mode: cors\r\n", "Sec-Fetch-Mode: navigate\r\n",
      "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n",
      "User-Agent: Mozilla/5.0\r\nReferer: https://evil.test/\r\n",
    ]
    for fields in rows { #expect(try stage.get(fields: fields).status == 200, "\(fields)") }
    stage.assertCanary(times: rows.count)
  }

  /// For names other than loopback, browsers send neither Origin nor Sec-Fetch-Site for images, links and typed
  /// addresses.
  @Test func `T2: for a host name that is not loopback, requests that look like a browser's are refused`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(listener: "address: localhost:0\n    hosts: [\"host.docker.internal:7070\"]"))
    let browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept-Language: en\r\n"
    let rows: [(String, String, Int)] = [
      ("host.docker.internal:7070", browser, 403), ("Host.Docker.Internal:7070", browser, 403),
      ("host.docker.internal:7070", browser + "Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Mode: navigate\r\n", 403),
      ("host.docker.internal:7070", "User-Agent: curl/8.5.0\r\n", 200), ("host.docker.internal:7070", "", 200),
      ("host.docker.internal:7070", "User-Agent: node\r\nAccept-Language: *\r\nSec-Fetch-Mode: cors\r\n", 200),
      ("host.docker.internal:7070", "User-Agent: Mozilla/5.0 (Windows NT 10.0) PowerShell/7.4.6\r\n", 200),
      ("localhost:PORT", browser, 200),
    ]
    for (host, fields, wanted) in rows {
      let authority = host.replacing("PORT", with: String(try stage.daemon!.port()))
      let response = try stage.request("GET /api/x HTTP/1.1\r\nHost: \(authority)\r\n\(fields)\r\n")
      #expect(response.status == wanted, "\(host) \(fields)")
      if wanted == 403 { #expect(response.text.contains("urn:bearerd:error:site-unknown"), "\(fields)") }
      // A browser that is served nevertheless cannot show the response as a page.
      let sandboxed = host.hasPrefix("host.") ? ["sandbox"] : []
      if wanted == 200 { #expect(response.values("Content-Security-Policy") == sandboxed, "\(host) \(fields)") }
    }
    stage.assertCanary(times: 5)
  }

  @Test func `T2 T35: an upstream's CORS and security policy fields are removed`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler(
        response: """
          HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r
          access-control-allow-credentials: true\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: h3=":443"\r
          Clear-Site-Data: "*"\r\nService-Worker-Allowed: /\r\nPublic-Key-Pins: x\r\nReport-To: {}\r\nNEL: {}\r
          X-Kept: yes\r\n\r\n
          """))
    try stage.start()
    let response = try stage.get(fields: "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n")
    #expect(response.status == 200)
    let names = response.head.components(separatedBy: "\r\n").dropFirst().map { $0.prefix { $0 != ":" }.lowercased() }
    let expected: Set = ["content-length", "x-kept", "content-security-policy", "date", "cache-control"]
    #expect(Set(names).isSubset(of: expected), "\(names)")
    #expect(response.values("Content-Security-Policy") == ["sandbox"])
    stage.assertCanary(times: 1)
  }

  @Test func `T18: OPTIONS is sent without the credential, unless a rule names OPTIONS`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.request("OPTIONS /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 200)
    stage.assertCanary(times: 0)
    try stage.reload(stage.configuration(service: "rules: [{ match: /x, methods: [OPTIONS, GET] }]"))
    #expect(try stage.request("OPTIONS /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T18: OPTIONS with Max-Forwards 0 is not sent to the upstream, and a higher value is reduced by one`()
    throws
  {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "rules: [{ match: /x, methods: [OPTIONS] }]"))
    func options(_ value: String) throws -> LocalClient.Response {
      try stage.request("OPTIONS /api/x HTTP/1.1\r\nHost: HOST\r\nMax-Forwards: \(value)\r\n\r\n")
    }
    let own = try options("0")
    #expect(own.status == 204 && own.values("Allow").first?.contains("OPTIONS") == true)
    #expect(try options("none").status == 400)
    #expect(stage.upstream.records.isEmpty)
    #expect(stage.log.wait(for: .request, ["method": "OPTIONS", "path": "/api/x", "status": 204, "up": 0, "down": 0]))
    #expect(try options("3").status == 200)
    #expect(stage.recorded.contains("\r\nMax-Forwards: 2\r\n"))
    stage.assertCanary(times: 1)
  }
}
