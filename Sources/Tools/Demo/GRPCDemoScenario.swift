internal import Console
internal import TestServer

/// Sends the three calls of the gRPC demo without a credential, and checks the results.
struct GRPCDemoScenario {
  let stage: DemoStage
  let client: GRPCDemoClient
  let report: GRPCDemoReport

  /// Sends all calls, and returns descriptions of the checks that failed.
  /// - Parameter between: Called after each call, to throw if a signal has arrived.
  func run(between: () throws -> Void) throws -> [String] {
    try stage.run([checkInjection, checkPin, checkRule], between: between)
  }

  private func checkInjection() throws -> [String] {
    let sent = client.fields(DemoStage.grpcMethod)
    let reply = try client.call(DemoStage.grpcMethod, "world")
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
    return stage.checkPin(code: reply.code) { report.showRefusedPin(reply: reply, connections: $0, bytes: $1) }
  }

  private func checkRule() throws -> [String] {
    try stage.checkRule(of: "call") {
      let reply = try client.call("/demo.Greeter/Delete", "world")
      report.showRefusedRule("/demo.Greeter/Delete", reply: reply)
      return reply.code
    }
  }
}
