package import TestServer
import Foundation
import TestSupport

/// An upstream that shows what is below `/public` to everybody, and the rest to who brings one of its secrets. What it echoes is the
/// body.
package final class AskingServer: @unchecked Sendable {
  package struct Rules: Sendable {
    /// Whole values of `Authorization`.
    package var good: Set<String> = []
    /// To strangers.
    package var status = "401 Unauthorized"
    /// The lines of the same.
    package var challenges = ["Bearer realm=\"all\""]
    /// Of what strangers are answered, the end never comes.
    package var withholdsBody = false
    /// Strangers have to connect once more.
    package var closes = false
  }

  private let state = Guarded(
    (rules: Rules(), verdicts: [String](), requests: [UpstreamRequest](), connections: [[String]]()))

  package init() {}

  package func change(_ edit: (inout Rules) -> Void) { state.withLock { edit(&$0.rules) } }

  /// What it thought of each request: `bare`, `good`, `wrong`.
  package var verdicts: [String] { state.withLock(\.verdicts) }
  package var requests: [UpstreamRequest] { state.withLock(\.requests) }
  /// The verdicts of each connection, in the order of their first requests.
  package var connections: [[String]] { state.withLock(\.connections) }

  package func serve(_ connection: UpstreamConnection) {
    var number: Int?
    while let request = try? connection.readRequest() {
      let shown = request.text.firstMatch(of: /\r\nAuthorization: ([^\r]*)\r\n/).map { String($0.1) }
      let rules = state.withLock { state in
        state.requests.append(request)
        let verdict = shown.map { state.rules.good.contains($0) ? "good" : "wrong" } ?? "bare"
        state.verdicts.append(verdict)
        if number == nil {
          number = state.connections.count
          state.connections.append([])
        }
        state.connections[number!].append(verdict)
        return state.rules
      }
      if request.path.hasPrefix("/public") || shown.map(rules.good.contains) == true {
        connection.answer("echo:" + String(decoding: request.body, as: UTF8.self))
      } else if rules.withholdsBody {
        let challenges = rules.challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
        try? connection.write(Array("HTTP/1.1 \(rules.status)\r\n\(challenges)Content-Length: 9\r\n\r\nhalf".utf8))
      } else {
        connection.answer(
          "the upstream's words", status: rules.status,
          fields: rules.challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
            + (rules.closes ? "Connection: close\r\n" : ""))
        if rules.closes { return }
      }
    }
  }
}
