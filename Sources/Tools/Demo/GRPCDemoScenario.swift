internal import Console
internal import TestServer

/// Sends the three calls of the gRPC demo without a credential, and checks the results.
struct GRPCDemoScenario {
  let stage: GRPCDemoStage
  let client: GRPCDemoClient
  let report: GRPCDemoReport

  /// Sends all calls, and returns descriptions of the checks that failed.
  /// - Parameter between: Called after each call, to throw if a signal has arrived.
  func run(between: () throws -> Void) throws -> [String] {
    try [checkInjection, checkPin, checkRule].flatMap { check in
      let failures = try check()
      try between()
      return failures
    }
  }

  private func checkInjection() throws -> [String] {
    let sent = client.fields(GRPCDemoStage.method)
    let reply = try client.call(GRPCDemoStage.method, "world")
    let record = stage.upstream.records.last { !$0.http2.requests.isEmpty }
    let received = record?.http2.requests.last?.fields ?? []
    report.showInjection(sent: sent, received: received, reply: reply, version: record?.version ?? "no TLS")
    var failures: [String] = []
    if reply.status != 0 || reply.text.isEmpty { failures.append("the server did not respond to the call") }
    if received.filter({ $0.value.contains(stage.token) }).map(\.name) != ["authorization"] {
      failures.append("the server did not receive the token exactly once, in authorization")
    }
    if sent.contains(where: { $0.value.contains(stage.token) }) || reply.everything.contains(stage.token) {
      failures.append("the program saw the token")
    }
    return failures
  }

  private func checkPin() throws -> [String] {
    let reply = try client.call("/demo.Impostor/SayHello", "world")
    let isFinished = stage.impostor.wait { !$0.isEmpty && $0.allSatisfy(\.isFinished) }
    let records = stage.impostor.records
    let bytes = records.reduce(0) { $0 + $1.bytes.count }
    report.showRefusedPin(reply: reply, connections: records.count, bytes: bytes)
    var failures: [String] = []
    if !isFinished { failures.append("bearerd did not close its connection to the server with another key") }
    if bytes > 0 { failures.append("\(counted(bytes, "byte")) went to the server with another key") }
    if reply.code != "pin-mismatch" { failures.append("the response does not name pin-mismatch as the reason") }
    return failures
  }

  private func checkRule() throws -> [String] {
    let before = stage.upstream.records.reduce(0) { $0 + $1.bytes.count }
    let reply = try client.call("/demo.Greeter/Delete", "world")
    let after = stage.upstream.records.reduce(0) { $0 + $1.bytes.count }
    report.showRefusedRule("/demo.Greeter/Delete", reply: reply)
    var failures: [String] = []
    if reply.code != "no-rule" { failures.append("a call that no rule allows was not refused with no-rule") }
    if after != before { failures.append("a call that no rule allows reached the server") }
    return failures
  }
}
