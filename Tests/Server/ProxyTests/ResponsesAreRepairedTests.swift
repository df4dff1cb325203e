import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// Responses of sloppy servers are repaired and forwarded, and their connections are not reused (T26).
@Suite(.inProcess) struct ResponsesAreRepaired {
  /// Starts a stage whose upstream sends `response`, and `alive` for `/alive`.
  private func stage(_ response: String, service: String = "") throws -> Stage {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") { connection.respond("alive") } else { connection.send(response) }
      }
    }
    try stage.start(stage.configuration(service: service))
    return stage
  }

  static let rows: [(response: String, head: String, repaired: String)] = [
    (
      "HTTP/1.1 200 OK\r\nExpires : 0\r\nX-Bad Name: 1\r\nContent-Length: 2\r\n\r\nok",
      "Expires: 0\r\nContent-Length: 2\r\n",
      "blank-before-colon,field-name"
    ),
    ("HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok", "A: b\r\nContent-Length: 2\r\n", "line-feed"),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "OK\r\nContent-Length: 2\r\n",
      "equal-lengths"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
      "OK\r\nTransfer-Encoding: chunked\r\n", "length-beside-chunked"
    ),
  ]

  @Test(arguments: rows)
  func `a repaired response is forwarded, and its connection is not reused`(
    response: String, head: String, repaired: String
  )
    throws
  {
    let stage = try stage(response)
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let lines = try client.head().split(separator: "\r\n").map(String.init)
    for line in head.split(separator: "\r\n") {
      #expect(lines.count { $0 == line || $0.hasSuffix(" \(line)") } == 1, "\(lines)")
    }
    #expect(stage.log.wait(for: .request, ["status": "200", "repaired": "\(repaired)"]))
    #expect(try stage.get("/api/alive").text == "alive")
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }

  @Test(arguments: rows)
  func `responses: strict refuses a response that would need repairs, with the reason`(
    response: String, head: String, repaired: String
  ) throws {
    let stage = try stage(response, service: "responses: strict")
    let refused = try stage.get()
    #expect(refused.status == 502 && refused.text.contains(#""reason":""#) && refused.text.contains(#""line":"#))
    #expect(stage.log.wait(for: .request, ["status": "502", "refused": "upstream-malformed", "repaired": .absent]))
  }

  @Test func `a response to HEAD with Content-Length and chunked is forwarded`() throws {
    let stage = try stage("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n")
    let client = try stage.raw()
    try client.send(stage.head("HEAD"))
    #expect(try client.head() == "HTTP/1.1 200 OK\r\nCache-Control: private\r\n")
    #expect(stage.log.wait(for: .request, ["status": "200", "repaired": "length-beside-chunked"]))
  }

  @Test func `body and log of a refusal name the fault, its position and the key`() throws {
    let many = String(repeating: "X: y\r\n", count: 1_025)
    for (fields, member, reason, detail) in [
      ("A: b\r\nno colon\r\n", #""reason":"noColon","line":3"#, "noColon", "line 3"),
      (
        "Content-Length: 2\r\nContent-Length: 3\r\n", #""field":"Content-Length""#, "duplicateContentLength",
        "line 3, field Content-Length"
      ),
      (
        many, #""key":"limits.fields","limit":1024,"count":1025"#, "tooManyFields",
        "1025 fields, and limits.fields is 1024"
      ),
      (
        "X: \(String(repeating: "y", count: 262_144))\r\n", #""key":"limits.head""#, "headTooLarge",
        "more than 262144 (limits.head)"
      ),
    ] {
      let stage = try stage("HTTP/1.1 200 OK\r\n\(fields)\r\n")
      #expect(try stage.get("/api/alive").text == "alive")
      let refused = try stage.get()
      #expect(refused.status == 502 && refused.text.contains(member), "\(refused.text)")
      #expect(refused.text.contains(#""reused":true"#))
      #expect(stage.log.wait(for: .request, ["reason": "\(reason)", "detail": "\(detail)", "reused": "true"]))
    }
  }

  @Test func `responses with 140 fields, 90 KiB or 300 links are forwarded`() throws {
    for fields in [
      String(repeating: "Server-Timing: a;dur=1\r\n", count: 140),
      "Content-Security-Policy: \(String(repeating: "x", count: 92_160))\r\n",
      String(repeating: "Link: </x>; rel=preload\r\n", count: 300),
    ] {
      let stage = try stage("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")
      let client = try stage.raw()
      try client.send(stage.head("GET"))
      let head = try client.head()
      #expect(head.components(separatedBy: "\r\n").count == fields.components(separatedBy: "\r\n").count + 3)
      #expect(stage.log.wait(for: .request, ["status": "200", "dropped": .absent, "repaired": .absent]))
    }
  }

  @Test func `each interim response restarts the response_head timeout`() throws {
    let stage = try Stage { connection in
      while connection.head() != nil {
        for _ in 0..<40 {
          Thread.sleep(forTimeInterval: 0.05)
          connection.send("HTTP/1.1 102 Processing\r\n\r\n")
        }
        connection.send("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    try stage.start(stage.configuration(service: "timeouts: { response_head: 500ms }"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    for _ in 0..<40 { #expect(try client.head() == "HTTP/1.1 102 Processing\r\n") }
    #expect(try client.response().body == "ok")
    #expect(stage.log.wait(for: .request, ["status": "201"]))
  }

  @Test func `the upstream's URLs are rewritten to local URLs, and dropped fields are logged`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        let host = head.components(separatedBy: "Host: ")[1].prefix { $0 != "\r\n" }
        connection.send(
          """
          HTTP/1.1 202 Accepted\r\nOperation-Location: https://\(host)/base/ops/7?v=1\r\nLocation: http://\(host)/base/a\\b\tc\r
          Set-Cookie: a=b\r\nRefresh: 5; url=//\r\nContent-Length: 2\r\n\r\nok
          """)
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let head = try client.response().head
    let port = try #require(try stage.daemon?.port())
    #expect(head.contains("Operation-Location: http://localhost:\(port)/api/ops/7?v=1\r\n"))
    #expect(head.contains("Location: /api/a/bc\r\n"))
    #expect(!head.contains("Refresh") && !head.contains("Set-Cookie"))
    #expect(stage.log.wait(for: .request, ["status": "202", "dropped": "set-cookie,refresh"]))
  }
}
