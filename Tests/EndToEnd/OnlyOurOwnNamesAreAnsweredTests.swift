import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A page that had its name point at us does not get in: Host, Origin, Sec-Fetch-Site, and the methods that reflect.
@Suite(.waits) struct OnlyOurOwnNamesAreAnswered {
  /// A request, the answer and what the upstream saw of it.
  private func status(_ stage: Stage, _ head: String) throws -> (Int, String) {
    let client = try stage.client()
    let port = String(try stage.daemon!.port())
    try client.send(head.replacing("PORT", with: port))
    let answer = try client.response(isHead: head.hasPrefix("HEAD"))
    return (answer.status, answer.text)
  }

  @Test func `T1 T10: all of our own names are answered, and the upstream is told its own, byte for byte`() throws {
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
    // They are paths.
    for target in ["//localhost:PORT/api/x", "///evil.test/api/x"] {
      #expect(try status(stage, "GET \(target) HTTP/1.1\r\n\(host)\r\n").0 == 404, "\(target)")
    }
    let hosts = stage.recorded.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("host:") }
    #expect(hosts == Array(repeating: "Host: localhost:\(stage.upstream.port)", count: rows.count))
    stage.assertCanary(times: rows.count)
  }

  @Test func `T2: programs that look a little like a web page get in`() throws {
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
@Suite(.waits) struct LoopbackIsOursAlone {
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
    #expect(result.errors.contains("::1") && result.errors.contains("Another program"))
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
