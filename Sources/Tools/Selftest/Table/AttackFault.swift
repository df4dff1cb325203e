internal import Console
internal import Policy

/// How what came of a row is judged.
extension AttackRow {
  /// One thing that is not as it has to be.
  package struct Fault: Sendable {
    package let seen: String
    package let expected: String
  }

  /// - Parameters:
  ///   - answer: every byte that came.
  ///   - received: what came to the upstream meanwhile.
  /// - Returns: nil: all is as it has to be.
  package func fault(_ answer: [UInt8], _ received: [ReceivedRequest], at place: AttackPlace) -> Fault? {
    fault(Reply(answer), received, at: place)
  }

  func fault(_ reply: Reply, _ received: [ReceivedRequest], at place: AttackPlace) -> Fault? {
    switch expectation {
    case .refused(let statuses, let codes):
      return isRefused(reply, received, statuses, codes) ? nil : refusalFault(reply, received, statuses, codes)
    case .passed(let words): return passFault(reply, received, words, place)
    case .harmless(let words):
      return isRefused(reply, received, [], []) ? nil : passFault(reply, received, words, place)
    case .inside:
      guard let request = received.first else {
        return reply.isRefusal ? nil : Fault(seen: reply.short, expected: "a refusal")
      }
      return place.escape(request).map {
        Fault(
          seen: "the upstream got \(request.target), which it may read as \($0)",
          expected: "a refusal, or a path that the rules allow")
      }
    case .contained(let statuses, let words):
      return answerFault(reply, reply.text, received, statuses, words.map(place.text))
    case .cleaned(let statuses, let words, let line):
      if let fault = answerFault(reply, reply.head, received, statuses, words.map(place.text)) { return fault }
      guard let line = line.map(place.text), reply.status != 502, !reply.head.contains("\r\n\(line)") else {
        return nil
      }
      return Fault(seen: "\"\(line)\" was removed or changed", expected: "passed on unchanged")
    }
  }

  /// A connection that is closed without a word is a refusal, where any will do.
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
    return Fault(seen: reply.short + sent, expected: "\(kinds.isEmpty ? "a refusal" : kinds), and nothing sent")
  }

  private func passFault(
    _ reply: Reply, _ received: [ReceivedRequest], _ words: [String], _ place: AttackPlace
  ) -> Fault? {
    if case .ownField = concern, place.onClientHeader == .reject, isRefused(reply, received, [400], []) { return nil }
    guard reply.status == 200, received.count == 1, let request = received.first else {
      return Fault(
        seen: "\(reply.short), \(counted(received.count, "request")) at the upstream",
        expected: "200, and 1 request at the upstream")
    }
    guard request.values("Host") == [place.upstream] else {
      return Fault(
        seen: "Host: \(request.values("Host").joined(separator: ", "))", expected: "Host: \(place.upstream), once")
    }
    if let (field, value) = place.credential {
      let values = request.values(field)
      if case .ownField = concern, place.onClientHeader == .keep, values.count == 1 { return nil }
      guard values == [value] else {
        return Fault(
          seen: "\(values.count) fields \(field), \(values.contains(value) ? "with" : "without") ours",
          expected: "one field, with ours")
      }
    }
    guard place.isInjecting, let word = words.first(where: { request.head.contains($0) }) else { return nil }
    return Fault(seen: "\"\(word)\" was sent", expected: "removed")
  }

  private func answerFault(
    _ reply: Reply, _ text: String, _ received: [ReceivedRequest], _ statuses: [Int], _ words: [String]
  ) -> Fault? {
    guard received.count == 1, statuses.contains(reply.statuses.last ?? 0) else {
      let kinds = statuses.map { "\($0)" }.joined(separator: " or ")
      return Fault(
        seen: "\(reply.short), \(counted(received.count, "request")) at the upstream",
        expected: "\(kinds), and 1 request at the upstream")
    }
    guard let word = words.first(where: { text.lowercased().contains($0.lowercased()) }) else { return nil }
    return Fault(seen: "the caller got \"\(word)\"", expected: "not received")
  }
}
