import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A web page cannot send requests through bearerd, even if its host name points to this machine.
@Suite(.waits) struct OnlyOwnHostNamesAreServed {
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

/// bearerd listens only on loopback addresses, and on both the IPv4 and the IPv6 address.
@Suite(.waits) struct LoopbackPortsAreExclusive {
  @Test func `T5: localhost listens on both IPv4 and IPv6`() throws {
    guard LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    let client = try LocalClient(port: port, family: AF_INET6)
    try client.send("GET /api/x HTTP/1.1\r\nHost: [::1]:\(port)\r\n\r\n")
    #expect(try client.response().status == 200)
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T5: the daemon does not start if another program listens on ::1`() throws {
    guard LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    let squatter = try #require(Squatting(.loopback6, port: 0))
    let result = try stage.fail(stage.configuration(listener: "address: localhost:\(squatter.port)"))
    #expect(result.status == 71)
    #expect(result.errors.contains("::1") && result.errors.contains("Another program"))
    stage.assertCanary(times: 0)
  }

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

  @Test func `T4: an address that other machines can reach is refused, with the position in the file`() throws {
    let stage = try Stage()
    for address in ["0.0.0.0:0", "\"[::]:0\"", "192.0.2.1:7070", "\"*:7070\"", "\":7070\"", "example.com:7070"] {
      let result = try stage.fail(stage.configuration(listener: "address: \(address)"))
      #expect(result.status == 2, "\(address)")
      #expect(result.errors.contains("refused.yaml:3:"), "\(address): \(result.errors)")
    }
    stage.assertCanary(times: 0)
  }
}
