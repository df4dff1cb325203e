import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A page that had its name point at us does not get in: Host, Origin, Sec-Fetch-Site, and the methods that reflect.
@Suite struct OnlyOurOwnNamesAreAnswered {
  /// A request, the answer and what the upstream saw of it.
  private func status(_ stage: Stage, _ head: String) throws -> (Int, String) {
    let client = try stage.client()
    let port = String(try stage.daemon!.port())
    let other = String(Int(port)! ^ 1)
    try client.send(head.replacing("PORT", with: port).replacing("OTHER", with: other))
    let answer = try client.response(isHead: head.hasPrefix("HEAD"))
    return (answer.status, answer.text)
  }

  @Test func `T1: Host names this listener and its port, or 421`() throws {
    let stage = try Stage()
    try stage.start()
    let rows: [(String, Int)] = [
      ("Host: localhost:PORT\r\n", 200), ("Host: LOCALHOST:PORT\r\n", 200), ("Host: 127.0.0.1:PORT\r\n", 200),
      ("Host: [::1]:PORT\r\n", 200), ("hOsT:\t localhost:PORT \r\n", 200),
      ("Host: evil.test:PORT\r\n", 421), ("Host: localhost.evil.test:PORT\r\n", 421),
      ("Host: 127.0.0.1.nip.io:PORT\r\n", 421), ("Host: localhost:OTHER\r\n", 421), ("Host: localhost\r\n", 421),
      ("Host: 0.0.0.0:PORT\r\n", 421), ("Host: 127.0.0.2:PORT\r\n", 421), ("Host: [::]:PORT\r\n", 421),
      ("Host: [::ffff:127.0.0.1]:PORT\r\n", 421), ("Host: 2130706433:PORT\r\n", 421),
      ("Host: xlocalhost:PORT\r\n", 421), ("Host: api.localhost:PORT\r\n", 421),
      ("Host: localhost:0PORT\r\n", 421), ("Host: evil@localhost:PORT\r\n", 400),
      ("Host: localhost:PORT@evil\r\n", 400), ("Host: localhost:PORT#evil\r\n", 400),
      ("Host: localhost:PORT/evil\r\n", 400), ("Host: localhost:PORT evil\r\n", 400),
      ("Host: localhost:PORT, evil\r\n", 400), ("Host:\r\n", 421), ("", 400),
      ("Host: localhost:PORT\r\nHost: localhost:PORT\r\n", 400), ("Host: localhost:PORT\r\nHost: evil.test\r\n", 400),
    ]
    var sent = 0
    for (field, wanted) in rows {
      let (status, text) = try status(stage, "GET /api/x HTTP/1.1\r\n\(field)\r\n")
      // Malformed and unknown are both refusals; which of the two is the parser's to say.
      #expect(wanted == 200 ? status == 200 : (status == 421 || status == 400), "\(field) → \(status)")
      if wanted == 421 { #expect(status == 421 || text.contains("malformed-request"), "\(field)") }
      if status == 200 { sent += 1 }
    }
    #expect(sent == 5)
    stage.assertCanary(times: 5)
  }

  @Test func `T10: an absolute-form target says the same as Host, or 421`() throws {
    let stage = try Stage()
    try stage.start()
    let host = "Host: localhost:PORT\r\n"
    let rows: [(String, String, Bool)] = [
      ("http://localhost:PORT/api/x", host, true), ("HTTP://LocalHost:PORT/api/x", host, true),
      ("http://127.0.0.1:PORT/api/x", host, true),
      ("http://evil.test/api/x", host, false), ("http://evil.test:PORT/api/x", host, false),
      ("http://localhost:OTHER/api/x", host, false), ("http://localhost/api/x", host, false),
      ("https://localhost:PORT/api/x", host, false), ("ftp://localhost:PORT/api/x", host, false),
      ("http://localhost:PORT@evil.test/api/x", host, false), ("http://u:p@localhost:PORT/api/x", host, false),
      ("http://localhost:PORT/api/x", "Host: evil.test\r\n", false), ("http:///api/x", host, false),
      ("http://localhost:PORT#/api/x", host, false), ("//localhost:PORT/api/x", host, false),
      ("localhost:PORT", host, false), ("api/x", host, false), ("*", host, false),
      ("http://localhost:PORT\\@evil.test/api/x", host, false), ("http://localhost:0PORT/api/x", host, false),
      ("http://localhost%00:PORT/api/x", host, false), ("http://localhost:PORT%2F@evil.test/api/x", host, false),
      ("http://evil.test\\@localhost:PORT/api/x", host, false), ("http://evil.test#@localhost:PORT/api/x", host, false),
      ("///evil.test/api/x", host, false), ("http://localhost:PORT/api/x", "Host: 127.0.0.1:PORT\r\n", true),
      ("/api/x?url=http://evil.test/", host, true), ("/api/x@evil.test", host, true),
      ("/api/x", host + "X-Forwarded-Host: evil.test\r\nX-Host: evil.test\r\n", true),
      ("/api/x", host + "Forwarded: host=evil.test\r\nX-Original-Host: evil.test\r\n", true),
      ("/api/x", host + "X-HTTP-Host-Override: evil.test\r\n", true),
      ("/api/x", host + "host: evil.test\r\n", false), ("/api/x", host + " Host: evil.test\r\n", false),
      ("/api/x", host + "Host : evil.test\r\n", false), ("/api/x", "Host: localhost:PORT@evil.test\r\n", false),
      ("/api/x", "Host: localhost:PORT#evil.test\r\n", false), ("/api/x", "Host: localhost:PORT/evil.test\r\n", false),
    ]
    var sent = 0
    for (target, fields, isFine) in rows {
      let (status, _) = try status(stage, "GET \(target) HTTP/1.1\r\n\(fields)\r\n")
      #expect(isFine == (status == 200), "\(target) → \(status)")
      if !isFine { #expect([400, 404, 421].contains(status), "\(target) → \(status)") }
      if status == 200 { sent += 1 }
    }
    // What the upstream is told is the rule's host, byte for byte, whatever the request said.
    let hosts = stage.recorded.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("host:") }
    #expect(hosts == Array(repeating: "Host: localhost:\(stage.upstream.port)", count: sent))
    stage.assertCanary(times: 9)
  }

  @Test func `T10: what claims to say where a request was going is neither believed nor passed on`() throws {
    let stage = try Stage()
    try stage.start()
    let claims = """
      X-Forwarded-Host: evil.test\r\nX-Forwarded-For: 10.9.8.7\r\nForwarded: host=evil.test\r
      X-Original-URL: /admin-evil\r\nX-Rewrite-URL: /admin-evil\r\nX-Forwarded-Proto: evil\r\n
      """
    #expect(try stage.get(fields: claims).status == 200)
    #expect(!stage.recorded.contains("evil") && !stage.recorded.contains("10.9.8.7"))
    stage.assertCanary(times: 1)
  }

  @Test func `T2: a web page does not get in, and programs that look a little like one do`() throws {
    let stage = try Stage()
    try stage.start()
    let rows: [(String, Int)] = [
      ("Origin: https://evil.test\r\n", 403), ("Origin: null\r\n", 403), ("Origin:\r\n", 403),
      ("Origin: http://localhost:PORT\r\n", 403), ("oRIGIN: http://localhost\r\n", 403),
      ("Sec-Fetch-Site: cross-site\r\n", 403), ("Sec-Fetch-Site: same-site\r\n", 403),
      ("Sec-Fetch-Site: same-origin\r\n", 403), ("Sec-Fetch-Site: NONE\r\n", 403), ("Sec-Fetch-Site:\r\n", 403),
      ("Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n", 403),
      ("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n", 403),
      ("Sec-Fetch-Site: none\r\n", 200), ("Sec-Fetch-Mode: cors\r\n", 200),
      ("Sec-Fetch-Mode: navigate\r\n", 200), ("Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n", 200),
      ("User-Agent: Mozilla/5.0\r\nReferer: https://evil.test/\r\n", 200),
    ]
    for (fields, wanted) in rows {
      let (status, text) = try status(stage, "GET /api/x HTTP/1.1\r\nHost: localhost:PORT\r\n\(fields)\r\n")
      #expect(status == wanted, "\(fields)")
      if wanted == 403 { #expect(text.contains("origin-not-allowed") || text.contains("cross-site"), "\(fields)") }
    }
    for method in ["POST", "PUT", "OPTIONS", "DELETE", "HEAD"] {
      let (status, _) = try status(
        stage,
        "\(method) /api/x HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: https://evil.test\r\nContent-Length: 0\r\n\r\n")
      #expect(status == 403, "\(method)")
    }
    stage.assertCanary(times: 5)
  }

  /// To such names browsers send neither Origin nor Sec-Fetch-Site with an image, a link or a typed address.
  @Test func `T2: by a name that is not loopback, what looks like a browser's does not get in`() throws {
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
      let answer = try stage.request("GET /api/x HTTP/1.1\r\nHost: \(authority)\r\n\(fields)\r\n")
      #expect(answer.status == wanted, "\(host) \(fields)")
      if wanted == 403 { #expect(answer.text.contains("urn:bearerd:error:site-unknown"), "\(fields)") }
      // Whoever it is, it can make no page of the answer.
      let sandboxed = host.hasPrefix("host.") ? ["sandbox"] : []
      if wanted == 200 { #expect(answer.values("Content-Security-Policy") == sandboxed, "\(host) \(fields)") }
    }
    stage.assertCanary(times: 5)
  }

  @Test func `T2 T35: what an upstream says about who may read never comes back`() throws {
    let stage = try Stage(
      handler: UpstreamServer.recordingHTTP(
        response: """
          HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r
          access-control-allow-credentials: true\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: h3=":443"\r
          Clear-Site-Data: "*"\r\nService-Worker-Allowed: /\r\nPublic-Key-Pins: x\r\nReport-To: {}\r\nNEL: {}\r
          X-Kept: yes\r\n\r\n
          """))
    try stage.start()
    let answer = try stage.get(fields: "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n")
    #expect(answer.status == 200)
    let names = answer.head.components(separatedBy: "\r\n").dropFirst().map { $0.prefix { $0 != ":" }.lowercased() }
    #expect(Set(names).isSubset(of: ["content-length", "x-kept", "content-security-policy", "date"]), "\(names)")
    #expect(answer.values("Content-Security-Policy") == ["sandbox"])
    stage.assertCanary(times: 1)
  }

  @Test func `T3: a page opens no WebSocket`() throws {
    let stage = try Stage()
    try stage.start()
    let (status, text) = try status(
      stage,
      """
      GET /api/socket HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: https://evil.test\r\nConnection: Upgrade\r
      Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
      """)
    #expect(status == 403)
    #expect(text.contains("origin-not-allowed"))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T18: methods that reflect or tunnel are 405 in any case of letters`() throws {
    let stage = try Stage()
    try stage.start()
    for method in ["TRACE", "TRACK", "trace", "Track", "CONNECT"] {
      let target = method == "CONNECT" ? "localhost:PORT" : "/api/x"
      let (status, text) = try status(stage, "\(method) \(target) HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n")
      #expect(status == 405, "\(method)")
      #expect(text.contains("method-not-supported"), "\(method)")
    }
    #expect(try status(stage, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n").0 >= 400)
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T18: OPTIONS goes out without the credential unless a rule names it`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.request("OPTIONS /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 200)
    stage.assertCanary(times: 0)
    try stage.reload(stage.configuration(service: "rules: [{ match: /x, methods: [OPTIONS, GET] }]"))
    #expect(try stage.request("OPTIONS /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T18: an OPTIONS goes as far as Max-Forwards lets it, and no byte of one that ends here goes out`() throws
  {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "rules: [{ match: /x, methods: [OPTIONS] }]"))
    func ask(_ value: String) throws -> LocalClient.Response {
      try stage.request("OPTIONS /api/x HTTP/1.1\r\nHost: HOST\r\nMax-Forwards: \(value)\r\n\r\n")
    }
    let own = try ask("0")
    #expect(own.status == 204 && own.values("Allow").first?.contains("OPTIONS") == true)
    #expect(try ask("none").status == 400)
    #expect(stage.upstream.records.isEmpty)
    #expect(stage.log.wait(for: .request, ["method": "OPTIONS", "path": "/api/x", "status": 204, "up": 0, "down": 0]))
    #expect(try ask("3").status == 200)
    #expect(stage.recorded.contains("\r\nMax-Forwards: 2\r\n"))
    stage.assertCanary(times: 1)
  }
}

/// What is bound is this machine's own, all of it.
@Suite struct LoopbackIsOursAlone {
  @Test func `T5: localhost is both families`() throws {
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

  @Test func `T5: it does not start beside somebody else on ::1`() throws {
    guard LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    let squatter = try #require(Squatting(.loopback6, port: 0))
    let result = try stage.fail(stage.configuration(listener: "address: localhost:\(squatter.port)"))
    #expect(result.status == 71)
    #expect(result.errors.contains("::1") && result.errors.contains("Somebody else"))
    stage.assertCanary(times: 0)
  }

  @Test(.enabled(if: isRoot, "makes a network without IPv6"))
  func `T5: only a machine without IPv6 has no half at ::1, and then it says so`() throws {
    func wrapper(_ switchedOff: String) -> [String] {
      let script = "ip link set lo up && echo \(switchedOff) > /proc/sys/net/ipv6/conf/all/disable_ipv6 && exec \"$@\""
      return ["/usr/bin/env", "unshare", "--net", "sh", "-c", script, "sh"]
    }
    for (switchedOff, place) in [("0", "localhost"), ("1", "127.0.0.1")] {
      guard (try? run(wrapper(switchedOff) + ["true"]))?.status == 0 else { return }
      let stage = try Stage()
      let daemon = try stage.start(wrapper: wrapper(switchedOff))
      let port = try daemon.port()
      #expect(daemon.log.contains(.listening, ["listener": "main", "address": "\(place):\(port)"]))
      // State 0A: it listens.
      let wanted = String(repeating: "0", count: 24) + "01000000:" + String(port, radix: 16, uppercase: true)
      let sockets = try run(["cat", "/proc/\(daemon.pid)/net/tcp6"]).output.split(separator: "\n")
      #expect(sockets.contains { $0.contains(wanted) && $0.contains(" 0A ") } == (switchedOff == "0"))
      let answer = try stage.ask(as: ["nsenter", "--net=/proc/\(daemon.pid)/ns/net"], target: "/nowhere")
      #expect(answer.output.hasPrefix("HTTP/1.1 404 "), "\(answer)")
      stage.assertCanary(times: 0)
    }
  }

  @Test func `T4: an address that others can reach is refused, with the reason`() throws {
    let stage = try Stage()
    for address in ["0.0.0.0:0", "\"[::]:0\"", "192.0.2.1:7070", "\"*:7070\"", "\":7070\"", "example.com:7070"] {
      let result = try stage.fail(stage.configuration(listener: "address: \(address)"))
      #expect(result.status == 2, "\(address)")
      #expect(result.errors.contains("refused.yaml:3:"), "\(address): \(result.errors)")
    }
    stage.assertCanary(times: 0)
  }
}
