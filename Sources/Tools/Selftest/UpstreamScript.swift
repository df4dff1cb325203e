package import TestServer
internal import Synchronization

package struct ReceivedRequest: Sendable {
  package let upstream: UInt16
  /// Number of the connection, unique for the port.
  package let connection: Int
  package let head: String
  package let body: [UInt8]

  package var target: String { head.split(separator: " ", maxSplits: 2).dropFirst().first.map(String.init) ?? "" }

  package func values(_ name: String) -> [String] { fieldValues(name, in: head) }
}

/// Records the requests of all embedded upstreams, and provides their responses.
package final class UpstreamScript: Sendable {
  package typealias Responder = @Sendable (ReceivedRequest) -> [UInt8]
  private struct State {
    var received: [ReceivedRequest] = []
    var response: Responder = { UpstreamScript.ok($0) }
    /// The bytes to send after the request body, if the response is sent before it; otherwise `nil`.
    var rest: [UInt8]?
  }
  private let state = Mutex(State())

  package init() {}

  package var received: [ReceivedRequest] { state.withLock { $0.received } }
  package var count: Int { state.withLock { $0.received.count } }

  /// Changes the responses of all embedded upstreams while `body` runs.
  /// - Parameter rest: Text to send after the request body. If not `nil`, the response is sent before the body is read.
  package func responding<Result>(
    rest: String? = nil, _ response: @escaping Responder, during body: () throws -> Result
  ) rethrows -> Result {
    let before = state.withLock { state in
      defer { (state.response, state.rest) = (response, rest.map { Array($0.utf8) }) }
      return (state.response, state.rest)
    }
    defer { state.withLock { ($0.response, $0.rest) = before } }
    return try body()
  }

  package func serve(_ connection: AcceptedConnection, of upstream: UInt16, number: Int) {
    while true {
      var rest: [UInt8]?
      let request = try? connection.readRequest { head in
        let now = state.withLock { $0 }
        guard now.rest != nil else { return }
        rest = now.rest
        try connection.write(now.response(record(upstream, number, head, [])))
      }
      guard let request else { return }
      do {
        if let rest {
          try connection.write(rest)
        } else {
          let received = record(upstream, number, request.head, request.body)
          let response = state.withLock { $0.response }(received)
          if response.isEmpty { return }
          try connection.write(response)
        }
      } catch { return }
    }
  }

  private func record(_ upstream: UInt16, _ number: Int, _ head: [UInt8], _ body: [UInt8]) -> ReceivedRequest {
    let request = ReceivedRequest(
      upstream: upstream, connection: number, head: String(decoding: head, as: UTF8.self), body: body)
    state.withLock { $0.received.append(request) }
    return request
  }

  /// Returns a response with a short body. `fields` are additional header lines, each with its CR LF.
  package static func ok(
    _ request: ReceivedRequest, status: String = "200 OK", fields: String = "", body: String = "hello\n"
  ) -> [UInt8] {
    let head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n"
    return Array((request.head.hasPrefix("HEAD ") ? head : head + body).utf8)
  }
}

/// Returns a field name in lowercase, with `-` for all bytes except letters and digits.
func folded(_ name: String) -> String {
  String(name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
}
