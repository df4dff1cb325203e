package import TestServer
import Foundation
package import TestSupport

/// An authorization server with scripted responses that records every request.
package final class TokenServer: @unchecked Sendable {
  package enum Response: Sendable {
    case token(String, expiresIn: Int?, refresh: String? = nil)
    /// An error of RFC 6749 section 5.2.
    case error(Int, String)
    /// A complete raw response.
    case raw(String)
    /// The connection is closed without a response.
    case nothing
  }

  private let state = Guarded((requests: [UpstreamRequest](), script: Response.nothing as Response, rows: [Response]()))
  package private(set) var server: UpstreamServer!
  /// Called on the server's thread when a request has arrived, before the response.
  package let onRequest = Guarded<(@Sendable (UpstreamRequest) -> Void)?>(nil)
  /// Returns a response that takes precedence over the script, or `nil`.
  package let onDecision = Guarded<(@Sendable (UpstreamRequest) -> Response?)?>(nil)

  package init(_ certificate: Certificate, options: UpstreamServer.Options = .init()) throws {
    server = try UpstreamServer(chain: [certificate], options: options) { [weak self] connection in
      while let request = try? connection.readRequest() {
        guard let response = self?.receive(request) else { return }
        switch response {
        case .nothing: return
        default: try? connection.write(Array(Self.text(response).utf8))
        }
      }
    }
  }

  deinit { server.stop() }

  package var url: String { "https://localhost:\(server.port)/oauth2/token" }

  /// Sets the response for all requests.
  package func respond(with response: Response) { state.withLock { ($0.script, $0.rows) = (response, []) } }
  /// Sets the next responses. The last one is repeated.
  package func respond(with rows: [Response]) {
    state.withLock { ($0.rows, $0.script) = (rows, rows.last ?? .nothing) }
  }

  package var requests: [UpstreamRequest] { state.withLock(\.requests) }
  package var forms: [[String: String]] { requests.map(\.form) }

  package func waitForRequests(_ count: Int) -> Bool { eventually { requests.count >= count } }

  private func receive(_ request: UpstreamRequest) -> Response {
    state.withLock { $0.requests.append(request) }
    onRequest.withLock { $0 }?(request)
    if let response = onDecision.withLock({ $0 })?(request) { return response }
    return state.withLock { state in state.rows.isEmpty ? state.script : state.rows.removeFirst() }
  }

  package static func text(_ response: Response) -> String {
    switch response {
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
  /// The decoded fields of a form body.
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
