package import TestServer
import Foundation
import TestSupport

/// An upstream with public paths below `/public`. Other paths need one of its secrets. It echoes the body.
package final class ChallengingServer: @unchecked Sendable {
  package struct Rules: Sendable {
    /// Accepted values of `Authorization`.
    package var good: Set<String> = []
    /// Status for requests without an accepted secret.
    package var status = "401 Unauthorized"
    /// Challenges for requests without an accepted secret.
    package var challenges = ["Bearer realm=\"all\""]
    /// Whether the body of a 401 stays incomplete.
    package var truncatesBody = false
    /// Whether a 401 closes the connection.
    package var closes = false
  }

  private let state = Guarded(
    (rules: Rules(), verdicts: [String](), requests: [UpstreamRequest](), connections: [[String]]()))

  package init() {}

  package func change(_ edit: (inout Rules) -> Void) { state.withLock { edit(&$0.rules) } }

  /// Verdict for each request: `bare`, `good` or `wrong`.
  package var verdicts: [String] { state.withLock(\.verdicts) }
  package var requests: [UpstreamRequest] { state.withLock(\.requests) }
  /// Verdicts of each connection, ordered by the first request of the connection.
  package var connections: [[String]] { state.withLock(\.connections) }

  package func serve(_ connection: AcceptedConnection) {
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
        connection.respond("echo:" + String(decoding: request.body, as: UTF8.self))
      } else if rules.truncatesBody {
        let challenges = rules.challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
        try? connection.write(Array("HTTP/1.1 \(rules.status)\r\n\(challenges)Content-Length: 9\r\n\r\nhalf".utf8))
      } else {
        connection.respond(
          "the upstream's words", status: rules.status,
          fields: rules.challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
            + (rules.closes ? "Connection: close\r\n" : ""))
        if rules.closes { return }
      }
    }
  }
}
