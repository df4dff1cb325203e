internal import Console
internal import TestServer
internal import System

/// Three requests of a program that knows no secret, and what came of them.
struct DemoShow {
  let stage: DemoStage
  let port: UInt16
  let report: DemoReport

  /// - Returns: what was not as promised.
  func run(between: () throws -> Void) throws -> [String] {
    var failures = try injected()
    try between()
    failures += try pinned()
    try between()
    failures += try unruled()
    try between()
    return failures
  }

  private func injected() throws -> [String] {
    let request = head("GET", "/demo/hello/world")
    let answer = try send(request)
    let record = stage.upstream.records.last { !$0.bytes.isEmpty }
    let received = record.map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
    report.showInjection(sent: request, received: received, answer: answer, version: record?.version ?? "no TLS")
    var failures: [String] = []
    if answer.status != 200 { failures.append("the upstream did not respond to the request") }
    if received.components(of: "Authorization: Bearer \(stage.token)\r\n") != 1 {
      failures.append("the upstream did not receive the token exactly once, in Authorization")
    }
    if request.contains(stage.token) || answer.text.contains(stage.token) {
      failures.append("the program saw the token")
    }
    return failures
  }

  private func pinned() throws -> [String] {
    let answer = try send(head("GET", "/impostor/hello/world"))
    let isOver = stage.impostor.wait { !$0.isEmpty && $0.allSatisfy(\.isFinished) }
    let records = stage.impostor.records
    let bytes = records.reduce(0) { $0 + $1.bytes.count }
    report.showRefusedPin(answer: answer, connections: records.count, bytes: bytes)
    var failures: [String] = []
    if !isOver { failures.append("bearerd did not close its connection to the server with another key") }
    if bytes > 0 { failures.append("\(counted(bytes, "byte")) went to the server with another key") }
    if answer.code != "pin-mismatch" { failures.append("the response does not name pin-mismatch as the reason") }
    return failures
  }

  private func unruled() throws -> [String] {
    let before = stage.upstream.records.reduce(0) { $0 + $1.bytes.count }
    let answer = try send(head("GET", "/demo/admin"))
    let after = stage.upstream.records.reduce(0) { $0 + $1.bytes.count }
    report.showRefusedRule(answer: answer)
    var failures: [String] = []
    if answer.code != "no-rule" { failures.append("a request that no rule allows was not refused with no-rule") }
    if after != before { failures.append("a request that no rule allows reached the upstream") }
    return failures
  }

  private func head(_ method: String, _ path: String) -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nUser-Agent: some-program/1.0\r\nConnection: close\r\n\r\n"
  }

  private func send(_ request: String) throws -> DemoAnswer {
    do throws(SocketError) {
      let socket = try BlockingSocket(host: "127.0.0.1", port: port, seconds: 15)
      try socket.send(Array(request.utf8))
      return DemoAnswer(try socket.receiveAll(maximum: 1 << 20))
    } catch {
      throw Failure(Failure.no, "bearerd does not respond: \(error.message)")
    }
  }
}

/// The answer that the program got.
struct DemoAnswer {
  let text: String

  init(_ bytes: [UInt8]) { text = String(decoding: bytes, as: UTF8.self) }

  var status: Int { text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }
  var reason: String { text.split(separator: "\r\n").first.map { String($0.dropFirst(13)).harmless } ?? "" }

  /// The stable code of a refusal by bearerd.
  var code: String? {
    let line = text.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Status: bearerd; error=") }
    return line?.split(separator: "details=\"").last.map { String($0.prefix { $0 != "\"" }).harmless }
  }

  var body: String {
    text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...].filter { !$0.isNewline }).harmless } ?? ""
  }
}

extension String {
  /// How often `needle` stands in it.
  fileprivate func components(of needle: String) -> Int { ranges(of: needle).count }
}
