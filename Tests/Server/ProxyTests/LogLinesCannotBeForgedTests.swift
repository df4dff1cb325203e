import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct LogLinesCannotBeForged {
  /// The daemon's own file has the name that a forger would choose.
  @Test func `T48: what stands in a line ends no line and drives no terminal`() throws {
    let stage = try Stage()
    let name = "a\ntime=0 level=error event=forged\r\u{1B}[2J\"\\\u{9B}x.yaml"
    let file = try stage.scratch.write(name, stage.configuration(more: "control: control.sock"), mode: 0o644)
    let daemon = try ServerThread(configuration: file)
    let text = String(decoding: daemon.log.bytes, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    #expect(lines.allSatisfy { $0.hasPrefix("time=2") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    #expect(text.contains(#"a\x0atime=0 level=error event=forged\x0d\x1b[2J\"\\\xc2\x9bx.yaml""#))
  }

  @Test func `T48: nothing that an upstream says stands in the log`() throws {
    let answers = [
      "HTTP/1.1 200 MARK\u{1B}[31m\r\nContent-Length: 5\r\nX-Mark: MARK\r\n\r\nMARK\n",
      "HTTP/1.1 404 MARK\r\nContent-Length: 4\r\nLocation: /MARK?token=MARK\r\n\r\nMARK",
      "HTTP/1.1 401 MARK\r\nContent-Length: 4\r\nWWW-Authenticate: Bearer error=\"MARK\"\r\n\r\nMARK",
      "MARK\nlevel=error event=forged\r\n\r\n", "HTTP/1.1 200 OK\r\nMARK\u{1B}: x\r\n\r\n",
      "HTTP/1.1 101 MARK\r\nUpgrade: MARK\r\nConnection: upgrade\r\n\r\nMARK",
    ]
    let next = Counter()
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      connection.say(answers[next.add() % answers.count])
    }
    try stage.start()
    for _ in answers { _ = try? stage.get() }
    #expect(stage.log.wait(for: .request, count: answers.count))
    let log = String(decoding: stage.log.bytes, as: UTF8.self)
    #expect(!log.contains("MARK") && !log.contains(" event=forged"))
    #expect(
      log.split(separator: "\n").allSatisfy {
        $0.hasPrefix("time=") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      })
    // A request on a connection that the upstream was closing arrives there twice.
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T48: a certificate cannot write into the log`() throws {
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
