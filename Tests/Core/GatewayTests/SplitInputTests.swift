import Gateway
import HTTP1
import Policy
import Testing

@Suite struct SplitInputTests {
  static let conversations: [(requests: String, responses: [String])] = [
    (get("Accept: */*"), [ok("Location: /base/y")]),
    (
      get("Transfer-Encoding: chunked", method: "POST") + "3\r\nabc\r\n2;x=\"y\"\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n"
        + get(),
      ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n1\r\ne\r\n0\r\nX-Sum: 2\r\n\r\n", ok()]
    ),
    (
      get("Content-Length: 5", "Expect: 100-continue", method: "PUT") + "hello" + get(method: "HEAD"),
      [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nLink: </base/>\r\n\r\n" + ok(),
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
      ]
    ),
    (get(target: "/none") + get() + get("Connection: close"), [ok(), "HTTP/1.1 204 No Content\r\n\r\n"]),
    (get() + "nonsense\r\n\r\n", [ok()]),
    (
      get() + get("Connection: upgrade", "Upgrade: websocket") + "raw up",
      [ok(), "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nraw down"]
    ),
  ]

  @Test(arguments: conversations.indices)
  func `client bytes have the same result at every split`(index: Int) throws {
    let (requests, responses) = SplitInputTests.conversations[index]
    let bytes = Array(requests.utf8)
    let whole = try play([bytes], responses.map { [Array($0.utf8)] })
    for cut in 1..<bytes.count {
      let played = try play([Array(bytes[..<cut]), Array(bytes[cut...])], responses.map { [Array($0.utf8)] })
      #expect(played == whole, "cut at \(cut)")
    }
    #expect(try play(bytes.map { [$0] }, responses.map { [Array($0.utf8)] }) == whole)
  }

  @Test(arguments: conversations.indices)
  func `upstream bytes have the same result at every split`(index: Int) throws {
    let (requests, responses) = SplitInputTests.conversations[index]
    let bytes = [Array(requests.utf8)]
    let whole = try play(bytes, responses.map { [Array($0.utf8)] })
    for cut in 1..<(responses.map(\.utf8.count).max() ?? 1) {
      let pieces = responses.map { response in
        [Array(response.utf8.prefix(cut)), Array(response.utf8.dropFirst(cut))].filter { !$0.isEmpty }
      }
      #expect(try play(bytes, pieces) == whole, "cut at \(cut)")
    }
    #expect(try play(bytes, responses.map { $0.utf8.map { [$0] } }) == whole)
  }

  struct Played: Equatable {
    var sessions: [String]
    var response: String
    var log: [String]
  }

  /// Sends all requests, then one response for each exchange.
  private func play(_ client: [[UInt8]], _ responses: [[[UInt8]]]) throws -> Played {
    var played = Conversation(try snapshot())
    for piece in client { played.client(piece) }
    for pieces in responses {
      #expect(played.phase == .exchanging)
      for piece in pieces { played.upstream(piece) }
    }
    return Played(
      sessions: played.sessions.map { rechunked($0) }, response: rechunked(played.received), log: played.log)
  }

  /// Returns a message without its chunk sizes, which depend on the pieces of the input.
  private func rechunked(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let framing = end(of: "Transfer-Encoding: chunked\r\n", in: bytes, from: 0),
      let start = end(of: "\r\n\r\n", in: bytes, from: framing - 2)
    else { return text }
    let body = Array(bytes[start...])
    var data: [UInt8] = []
    var reader = BodyReader(.chunked)
    var position = 0
    while !reader.isComplete {
      guard let step = try? reader.next(body.span, position: &position), step != .needsMore else { return text }
      if case .data(let range) = step { data += body[range] }
    }
    let pieces = [bytes[..<start], data[...], (reader.takeTrailers()?.bytes ?? [])[...], body[position...]]
    return pieces.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "|")
  }

  private func end(of text: String, in bytes: [UInt8], from start: Int) -> Int? {
    let wanted = Array(text.utf8)
    return bytes.indices.dropFirst(start).first { bytes[$0...].starts(with: wanted) }.map { $0 + wanted.count }
  }
}
