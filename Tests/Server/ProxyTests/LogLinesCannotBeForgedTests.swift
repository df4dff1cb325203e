import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct LogLinesCannotBeForged {
  /// The configuration file has a name that tries to forge a log line.
  @Test func `T48: control characters in a file name are escaped in the log`() throws {
    let stage = try Stage()
    let name = "a\ntime=0 level=error event=forged\r\u{1B}[2J\"\\\u{9B}x.yaml"
    let file = try stage.scratch.write(name, stage.configuration(more: "control: control.sock"), mode: 0o644)
    let daemon = try ServerThread(configuration: file)
    let text = String(decoding: daemon.log.bytes, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    #expect(lines.allSatisfy { $0.hasPrefix("time=2") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    #expect(text.contains(#"a\x0atime=0 level=error event=forged\x0d\x1b[2J\"\\\xc2\x9bx.yaml""#))
  }

  @Test func `T48: requests cannot write forged log lines or terminal control sequences`() throws {
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    let heads = [
      "GET /api/x%0alevel=error%20event=forged HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "GET /api/\u{1b}[31mred HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "GET /api/a\rlevel=error HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "GET /api/x\"quoted\"=y HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "FOO\u{1b}[2J /api/x HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "EVENT=FORGED /api/x HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "GET /api/%1b%5b31m HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
      "GET /api/é HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", "\u{1b}]0;title\u{7}\r\n\r\n",
      "GET /api/ok?token=QUERY-secret HTTP/1.1\r\nHost: localhost:PORT\r\nX-Mine: FIELD-secret\r\nContent-Length: 11\r\n\r\nBODY-secret",
    ]
    for head in heads {
      let client = try stage.client()
      try client.send(head.replacing("PORT", with: "\(port)"))
      _ = try? client.response()
    }
    #expect(stage.log.wait(for: .request, ["path": "/api/ok"]))
    let log = stage.log
    for line in String(decoding: log.bytes, as: UTF8.self).split(separator: "\n") {
      #expect(line.hasPrefix("time="), "\(line)")
      #expect(line.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "\(line)")
    }
    // A field begins after a space, and a logged path contains no space.
    #expect(log.hides(" event=forged") && log.hides(" level=error"))
    for secret in ["QUERY-secret", "FIELD-secret", "BODY-secret"] { #expect(log.hides(secret)) }
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T48: no text of an upstream appears in the log`() throws {
    let responses = [
      "HTTP/1.1 200 MARK\u{1B}[31m\r\nContent-Length: 5\r\nX-Mark: MARK\r\n\r\nMARK\n",
      "HTTP/1.1 404 MARK\r\nContent-Length: 4\r\nLocation: /MARK?token=MARK\r\n\r\nMARK",
      "HTTP/1.1 401 MARK\r\nContent-Length: 4\r\nWWW-Authenticate: Bearer error=\"MARK\"\r\n\r\nMARK",
      "MARK\nlevel=error event=forged\r\n\r\n", "HTTP/1.1 200 OK\r\nMARK\u{1B}: x\r\n\r\n",
      "HTTP/1.1 101 MARK\r\nUpgrade: MARK\r\nConnection: upgrade\r\n\r\nMARK",
    ]
    let next = Counter()
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      connection.send(responses[next.add() % responses.count])
    }
    try stage.start()
    for _ in responses { _ = try? stage.get() }
    #expect(stage.log.wait(for: .request, count: responses.count))
    let log = String(decoding: stage.log.bytes, as: UTF8.self)
    #expect(!log.contains("MARK") && !log.contains(" event=forged"))
    #expect(
      log.split(separator: "\n").allSatisfy {
        $0.hasPrefix("time=") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      })
    // bearerd retries a request if the upstream closed the connection.
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T48: text of a certificate cannot forge log lines`() throws {
    let stage = try Stage()
    var options = Certificate.Options()
    options.commonName = "a\nlevel=error event=forged\r\u{1B}[2J"
    try stage.upstream.replaceCertificates([try Certificate(options)])
    try stage.start()
    #expect(try stage.get().status == 502)
    #expect(stage.log.wait(for: .request, ["refused": "certificate-invalid"]))
    let log = String(decoding: stage.log.bytes, as: UTF8.self)
    #expect(
      log.split(separator: "\n").allSatisfy {
        $0.hasPrefix("time=") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      })
    stage.assertCanary(times: 0)
  }
}
