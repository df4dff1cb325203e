/// Request bodies that an upstream could leave unread, and then parse as the next request.
enum BodyAttacks {
  static let all = [Attack(62, "bodies that an upstream does not read", unread)]

  private static func unread(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let inner = "DELETE /selftest-elsewhere HTTP/1.1\r\nHost: x\r\n\r\n"
    let length = "Content-Length: \(inner.utf8.count)"
    for target in stage.targets where ["GET", "HEAD", "DELETE", "OPTIONS"].contains(target.method) {
      let tried = "a request in the body of a \(target.method)"
      let first = try stage.expectSuccess(target.request(length, body: inner), to: target, tried, &tally)
      guard let first, let second = try stage.expectSuccess(target.request(), to: target, "the next request", &tally)
      else { continue }
      let hasClose = first.request.values("Connection").contains { folded($0).contains("close") }
      tally.check(
        hasClose && first.request.connection != second.request.connection, "\(target.name): \(tried)",
        seen: hasClose ? "the next request on the same connection" : "no Connection: close at the upstream",
        expected: "Connection: close, and another connection for the next request")
    }
    return tally.outcome(
      "after such a body, bearerd did not use the connection again",
      ifUntried: "no service allows GET, HEAD, DELETE or OPTIONS")
  }
}
