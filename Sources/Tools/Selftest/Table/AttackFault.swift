internal import Console
internal import Policy

extension AttackRow {
  /// A difference between the actual and the expected result of an attack.
  struct Fault: Sendable {
    let seen: String
    let expected: String
  }

  /// Returns the first difference between the results of an attack and the expected result; `nil` if there is none.
  /// - Parameter reply: All bytes that the caller received.
  func fault(_ reply: Reply, _ received: [ReceivedRequest], at context: AttackContext) -> Fault? {
    switch expectation {
    case .refused(let statuses, let codes):
      return isRefused(reply, received, statuses, codes) ? nil : refusalFault(reply, received, statuses, codes)
    case .passed(let words): return passFault(reply, received, words, context)
    case .harmless(let words):
      return isRefused(reply, received, [], []) ? nil : passFault(reply, received, words, context)
    case .withinRules:
      guard let request = received.first else {
        return reply.isRefusal ? nil : Fault(seen: reply.summary, expected: "a refusal")
      }
      return context.disallowedReading(request).map {
        Fault(
          seen: "the upstream got \(request.target), which it may read as \($0)",
          expected: "a refusal, or a path that the rules allow")
      }
    case .contained(let statuses, let words):
      return responseFault(reply, reply.text, received, statuses, words.map(context.expanded))
    case .cleaned(let statuses, let words, let line):
      if let fault = responseFault(reply, reply.head, received, statuses, words.map(context.expanded)) { return fault }
      guard let line = line.map(context.expanded), reply.status != 502, !reply.head.contains("\r\n\(line)") else {
        return nil
      }
      return Fault(seen: "\"\(line)\" was removed or changed", expected: "passed on unchanged")
    }
  }

  /// Whether bearerd refused the request with one of the statuses and codes, or in any way if `statuses` is empty.
  private func isRefused(_ reply: Reply, _ received: [ReceivedRequest], _ statuses: [Int], _ codes: [String]) -> Bool {
    let isRight = statuses.isEmpty ? reply.isRefusal : statuses.contains(reply.status) && reply.statuses.count == 1
    return isRight && received.isEmpty && (codes.isEmpty || codes.contains(reply.code ?? ""))
  }

  private func refusalFault(
    _ reply: Reply, _ received: [ReceivedRequest], _ statuses: [Int], _ codes: [String]
  ) -> Fault {
    let kinds = (statuses.map { "\($0)" } + codes).joined(separator: " or ")
    let isSmuggled = received.contains { $0.target.contains("smuggled") }
    let sent = received.isEmpty ? "" : isSmuggled ? ", and a smuggled request was sent" : ", and the upstream got it"
    return Fault(seen: reply.summary + sent, expected: "\(kinds.isEmpty ? "a refusal" : kinds), and nothing sent")
  }

  private func passFault(
    _ reply: Reply, _ received: [ReceivedRequest], _ words: [String], _ context: AttackContext
  ) -> Fault? {
    if case .ownField = scope, context.onClientHeader == .reject, isRefused(reply, received, [400], []) { return nil }
    guard reply.status == 200, received.count == 1, let request = received.first else {
      return Fault(
        seen: "\(reply.summary), \(counted(received.count, "request")) at the upstream",
        expected: "200, and 1 request at the upstream")
    }
    guard request.values("Host") == [context.upstream] else {
      return Fault(
        seen: "Host: \(request.values("Host").joined(separator: ", "))", expected: "Host: \(context.upstream), once")
    }
    if let (field, value) = context.credential {
      let values = request.values(field)
      if case .ownField = scope, context.onClientHeader == .keep, values.count == 1 { return nil }
      guard values == [value] else {
        return Fault(
          seen: "\(values.count) fields \(field), \(values.contains(value) ? "with" : "without") ours",
          expected: "one field, with ours")
      }
    }
    guard context.isInjecting, let word = words.first(where: { request.head.contains($0) }) else { return nil }
    return Fault(seen: "\"\(word)\" was sent", expected: "removed")
  }

  private func responseFault(
    _ reply: Reply, _ text: String, _ received: [ReceivedRequest], _ statuses: [Int], _ words: [String]
  ) -> Fault? {
    guard received.count == 1, statuses.contains(reply.statuses.last ?? 0) else {
      let kinds = statuses.map { "\($0)" }.joined(separator: " or ")
      return Fault(
        seen: "\(reply.summary), \(counted(received.count, "request")) at the upstream",
        expected: "\(kinds), and 1 request at the upstream")
    }
    guard let word = words.first(where: { text.lowercased().contains($0.lowercased()) }) else { return nil }
    return Fault(seen: "the caller got \"\(word)\"", expected: "not received")
  }
}
