@testable import OAuth
import Testing

/// Reads one response from the bytes of a connection.
@Suite struct ResponseIntakeTests {
  private static let json = "{\"access_token\":\"t\"}"

  private enum Outcome: Equatable {
    case response(Int, body: String, retryAfter: String?)
    case malformed(String)
    case open
  }

  private func outcome(_ text: String, pieces: Int, endsClean: Bool? = nil) throws -> Outcome {
    let intake = try TokenResponseReceiver(mustLock: false)
    var step = TokenResponseReceiver.Step.needsMore
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty, step == .needsMore {
      let piece = Array(rest.prefix(pieces))
      step = intake.receive(piece.span)
      rest = rest.dropFirst(pieces)
    }
    if step == .needsMore, let endsClean { step = intake.inputEnded(isClean: endsClean) }
    switch step {
    case .needsMore: return .open
    case .malformed(let problem): return .malformed(problem)
    case .complete:
      return intake.withResponse { head, body in
        var text: [UInt8] = []
        for index in body.indices { text.append(body[index]) }
        return .response(head.status, body: String(decoding: text, as: UTF8.self), retryAfter: head.retryAfter)
      }
    }
  }

  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
  private static let responses: [(String, Int, String, String?)] = [
    ("\(head)Content-Length: 20\r\n\r\n\(json)", 200, json, nil),
    ("\(head)Content-Length: 20\r\n\r\n\(json)HTTP/1.1 200 OK\r\n", 200, json, nil),
    ("\(head)Transfer-Encoding: chunked\r\n\r\n6\r\n{\"acce\r\ne\r\nss_token\":\"t\"}\r\n0\r\n\r\n", 200, json, nil),
    ("HTTP/1.1 103 X\r\nRetry-After: 9\r\n\r\n\(head)Content-Length: 20\r\n\r\n\(json)", 200, json, nil),
    ("HTTP/1.1 503 X\r\nContent-Length: 0\r\nRetry-After: 120\r\n\r\n", 503, "", "120"),
    ("HTTP/1.1 503 X\r\nContent-Length: 0\r\nRetry-After: 1\r\nretry-after: 2\r\n\r\n", 503, "", "1, 2"),
    ("HTTP/1.1 204 X\r\n\r\n", 204, "", nil),
  ]

  @Test(arguments: responses.indices, [1, 2, 3, 7, 1_000])
  func `a response is read in pieces of any size`(index: Int, pieces: Int) throws {
    let (text, status, body, retryAfter) = Self.responses[index]
    #expect(try outcome(text, pieces: pieces) == .response(status, body: body, retryAfter: retryAfter))
  }

  @Test(arguments: [1, 1_000])
  func `a response without a length ends with the connection, if TLS was closed properly`(pieces: Int) throws {
    let text = "\(Self.head)\r\n\(Self.json)"
    #expect(try outcome(text, pieces: pieces) == .open)
    #expect(
      try outcome(text, pieces: pieces, endsClean: true) == .response(200, body: Self.json, retryAfter: nil))
    guard case .malformed = try outcome(text, pieces: pieces, endsClean: false) else {
      Issue.record("the response may be truncated")
      return
    }
  }

  static let malformed: [String] = [
    "220 smtp\r\n", "\(head)Content-Length: 20\r\nContent-Length: 21\r\n\r\n",
    "\(head)Content-Length: 20\r\nTransfer-Encoding: chunked\r\n\r\n",
    "\(head)Content-Length: 70000\r\n\r\n"
      + String(repeating: "a", count: 70_000), "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 4_000),
    "HTTP/1.1 101 X\r\n\r\n", String(repeating: "HTTP/1.1 100 X\r\n\r\n", count: 12),
    "\(head)Transfer-Encoding: chunked\r\n\r\nx\r\n",
  ]

  @Test(arguments: malformed.indices, [1, 11, 100_000])
  func `a malformed or oversized response is refused`(index: Int, pieces: Int) throws {
    guard case .malformed(let problem) = try outcome(Self.malformed[index], pieces: pieces) else {
      Issue.record("accepted: \(Self.malformed[index].prefix(80))")
      return
    }
    #expect(!problem.contains("smtp"))
  }

  @Test func `a truncated response is refused`() throws {
    let text = Self.responses[0].0
    for count in 0..<text.utf8.count {
      let cut = String(decoding: Array(text.utf8).prefix(count), as: UTF8.self)
      let outcome = try outcome(cut, pieces: 1_000, endsClean: true)
      guard case .malformed = outcome else {
        Issue.record("\(count) bytes: \(outcome)")
        return
      }
    }
  }
}
