internal import Console
internal import TestServer

/// Sends the three requests of the demo without a credential, and checks the results.
struct DemoScenario {
  let stage: DemoStage
  let port: UInt16
  let report: DemoReport

  /// Sends all requests, and returns descriptions of the checks that failed.
  /// - Parameter between: Called after each request, to throw if a signal has arrived.
  func run(between: () throws -> Void) throws -> [String] {
    try stage.run([checkInjection, checkPin, checkRule], between: between)
  }

  private func checkInjection() throws -> [String] {
    let request = head("GET", "/demo/hello/world")
    let response = try send(request)
    let record = stage.upstream.records.last { !$0.bytes.isEmpty }
    let received = record.map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
    report.showInjection(sent: request, received: received, response: response, version: record?.version ?? "no TLS")
    var failures: [String] = []
    if response.status != 200 { failures.append("the upstream did not respond to the request") }
    if received.ranges(of: "Authorization: Bearer \(stage.token)\r\n").count != 1 {
      failures.append("the upstream did not receive the token exactly once, in Authorization")
    }
    if request.contains(stage.token) || response.text.contains(stage.token) {
      failures.append("the program saw the token")
    }
    return failures
  }

  private func checkPin() throws -> [String] {
    let response = try send(head("GET", "/impostor/hello/world"))
    return stage.checkPin(code: response.code) {
      report.showRefusedPin(response: response, connections: $0, bytes: $1)
    }
  }

  private func checkRule() throws -> [String] {
    try stage.checkRule(of: "request") {
      let response = try send(head("GET", "/demo/admin"))
      report.showRefusedRule(response: response)
      return response.code
    }
  }

  private func head(_ method: String, _ path: String) -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nUser-Agent: some-program/1.0\r\nConnection: close\r\n\r\n"
  }

  private func send(_ request: String) throws -> Reply { try Reply(to: request, port: port, seconds: 15) }
}

// The checks that the demos for HTTP and gRPC have in common. Each returns descriptions of what failed.
extension DemoStage {
  /// - Parameter between: Called after each check, to throw if a signal has arrived.
  func run(_ checks: [() throws -> [String]], between: () throws -> Void) throws -> [String] {
    try checks.flatMap { check in
      let failures = try check()
      try between()
      return failures
    }
  }

  /// Checks that the impostor has received nothing.
  /// - Parameters:
  ///   - code: the code of bearerd's error.
  ///   - report: gets the impostor's connections, and the bytes that it has received.
  func checkPin(code: String?, report: (_ connections: Int, _ bytes: Int) -> Void) -> [String] {
    let isFinished = impostor.wait { !$0.isEmpty && $0.allSatisfy(\.isFinished) }
    let bytes = impostor.receivedBytes
    report(impostor.records.count, bytes)
    var failures: [String] = []
    if !isFinished { failures.append("bearerd did not close its connection to the server with another key") }
    if bytes > 0 { failures.append("\(counted(bytes, "byte")) went to the server with another key") }
    if code != "pin-mismatch" { failures.append("the response does not name pin-mismatch as the reason") }
    return failures
  }

  /// Checks that a request that no rule allows does not reach the upstream.
  /// - Parameters:
  ///   - kind: "request" or "call".
  ///   - send: sends the request, and returns the code of bearerd's error.
  func checkRule(of kind: String, send: () throws -> String?) throws -> [String] {
    let before = upstream.receivedBytes
    let code = try send()
    var failures: [String] = []
    if code != "no-rule" { failures.append("a \(kind) that no rule allows was not refused with no-rule") }
    if upstream.receivedBytes != before { failures.append("a \(kind) that no rule allows reached the server") }
    return failures
  }
}

extension UpstreamServer {
  fileprivate var receivedBytes: Int { records.reduce(0) { $0 + $1.bytes.count } }
}

extension Reply {
  /// Sends a request to bearerd.
  init(to request: String, port: UInt16, seconds: UInt64) throws {
    do throws(SocketError) {
      let socket = try BlockingSocket(host: "127.0.0.1", port: port, seconds: seconds)
      try socket.send(Array(request.utf8))
      self.init(try socket.receiveAll(maximum: 1 << 20))
    } catch {
      throw Failure(Failure.no, "bearerd does not respond: \(error.message)")
    }
  }

  var reason: String { text.split(separator: "\r\n").first.map { String($0.dropFirst(13)).harmless } ?? "" }

  var body: String {
    text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...].filter { !$0.isNewline }).harmless } ?? ""
  }
}
