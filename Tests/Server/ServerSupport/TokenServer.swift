package import TestServer
import Foundation
package import TestSupport

/// An authorization server of the test's own: answers by a script, and remembers every byte that it was asked with.
package final class TokenServer: @unchecked Sendable {
  package enum Answer: Sendable {
    case token(String, expiresIn: Int?, refresh: String? = nil)
    /// RFC 6749 section 5.2.
    case error(Int, String)
    /// Whatever it is, head and all.
    case raw(String)
    /// The connection just ends.
    case nothing
  }

  private let state = Guarded((requests: [UpstreamRequest](), script: Answer.nothing as Answer, rows: [Answer]()))
  package private(set) var server: UpstreamServer!
  /// Called on the server's thread once a request is there, before it is answered.
  package let onRequest = Guarded<(@Sendable (UpstreamRequest) -> Void)?>(nil)
  /// What it says to a request, whatever the script is; nil: that.
  package let onDecision = Guarded<(@Sendable (UpstreamRequest) -> Answer?)?>(nil)

  package init(_ certificate: Certificate, options: UpstreamServer.Options = .init()) throws {
    server = try UpstreamServer(chain: [certificate], options: options) { [weak self] connection in
      while let request = try? connection.readRequest() {
        guard let answer = self?.take(request) else { return }
        switch answer {
        case .nothing: return
        default: try? connection.write(Array(Self.text(answer).utf8))
        }
      }
    }
  }

  deinit { server.stop() }

  package var url: String { "https://localhost:\(server.port)/oauth2/token" }

  /// What it says from now on, after `rows`.
  package func answers(_ answer: Answer) { state.withLock { ($0.script, $0.rows) = (answer, []) } }
  /// What it says next, one after the other; then the last one for ever.
  package func answers(_ rows: [Answer]) { state.withLock { ($0.rows, $0.script) = (rows, rows.last ?? .nothing) } }

  package var requests: [UpstreamRequest] { state.withLock(\.requests) }
  package var forms: [[String: String]] { requests.map(\.form) }

  package func waitForRequests(_ count: Int) -> Bool { eventually { requests.count >= count } }

  private func take(_ request: UpstreamRequest) -> Answer {
    state.withLock { $0.requests.append(request) }
    onRequest.withLock { $0 }?(request)
    if let answer = onDecision.withLock({ $0 })?(request) { return answer }
    return state.withLock { state in state.rows.isEmpty ? state.script : state.rows.removeFirst() }
  }

  package static func text(_ answer: Answer) -> String {
    switch answer {
    case .raw(let text): return text
    case .nothing: return ""
    case .error(let status, let code): return json(status, "{\"error\":\"\(code)\",\"error_description\":\"s3cret\"}")
    case .token(let token, let expiresIn, let refresh):
      var members = ["\"access_token\":\"\(token)\"", "\"token_type\":\"Bearer\""]
      if let expiresIn { members.append("\"expires_in\":\(expiresIn)") }
      if let refresh { members.append("\"refresh_token\":\"\(refresh)\"") }
      return json(200, "{\(members.joined(separator: ","))}")
    }
  }

  package static func json(_ status: Int, _ body: String) -> String {
    "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }
}

extension UpstreamRequest {
  /// Its fields, decoded.
  package var form: [String: String] {
    var fields: [String: String] = [:]
    for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      fields[String(parts[0])] =
        (parts.count > 1 ? parts[1] : "(nothing)").replacingOccurrences(of: "+", with: " ").removingPercentEncoding
    }
    return fields
  }
}
