package import TestServer
internal import Synchronization

/// A request as an upstream of the test received it.
package struct ReceivedRequest: Sendable {
  /// The port of the upstream that received it; with its connection below, no two are alike.
  package let upstream: UInt16
  package let connection: Int
  package let head: String
  package let body: [UInt8]

  package var target: String { head.split(separator: " ", maxSplits: 2).dropFirst().first.map(String.init) ?? "" }
  package var lines: [String] { head.split(separator: "\r\n").dropFirst().map(String.init) }

  /// Values of the fields of this name; case does not count, and `_` is `-`, as CGI and WSGI servers read it.
  package func values(_ name: String) -> [String] {
    lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":"), folded(String(line[..<colon])) == folded(name) else { return nil }
      return String(line[line.index(after: colon)...].drop { $0 == " " })
    }
  }
}

/// The requests that all upstreams of the test received, and the answers that they give next.
package final class UpstreamScript: Sendable {
  package typealias Answer = @Sendable (ReceivedRequest) -> [UInt8]
  private struct State {
    var received: [ReceivedRequest] = []
    var answer: Answer = { UpstreamScript.ok($0) }
    /// Not nil: the answer is sent as soon as the head is there, and this when the body has come.
    var rest: [UInt8]?
  }
  private let state = Mutex(State())

  package init() {}

  package var received: [ReceivedRequest] { state.withLock { $0.received } }
  package var count: Int { state.withLock { $0.received.count } }

  /// Answers in this way while `body` runs. An empty answer closes the connection.
  /// - Parameter rest: not nil: early, as soon as the head has come, and this behind it when the body has come.
  package func answering<Result>(rest: String? = nil, _ answer: @escaping Answer, during body: () throws -> Result)
    rethrows
    -> Result
  {
    let before = state.withLock { state in
      defer { (state.answer, state.rest) = (answer, rest.map { Array($0.utf8) }) }
      return (state.answer, state.rest)
    }
    defer { state.withLock { ($0.answer, $0.rest) = before } }
    return try body()
  }

  package func serve(_ connection: UpstreamConnection, of upstream: UInt16, number: Int) {
    while true {
      var rest: [UInt8]?
      let request = try? connection.readRequest { head in
        let now = state.withLock { $0 }
        guard now.rest != nil else { return }
        rest = now.rest
        try connection.write(now.answer(record(upstream, number, head, [])))
      }
      guard let request else { return }
      do {
        if let rest {
          try connection.write(rest)
        } else {
          let received = record(upstream, number, request.head, request.body)
          let answer = state.withLock { $0.answer }(received)
          if answer.isEmpty { return }
          try connection.write(answer)
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

  /// 200 and a short body, with more fields.
  package static func ok(
    _ request: ReceivedRequest, status: String = "200 OK", fields: String = "", body: String = "hello\n"
  )
    -> [UInt8]
  {
    let head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n"
    return Array((request.head.hasPrefix("HEAD ") ? head : head + body).utf8)
  }
}

/// A name as CGI servers compare it: lower case, and `-` for whatever is neither a letter nor a digit.
func folded(_ name: String) -> String {
  String(name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
}
