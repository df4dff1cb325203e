import Testing

@testable import OAuth

@Suite struct CallbackHeadTests {
  private let ours = [Array("127.0.0.1:4711".utf8)]

  private func read(_ text: String) -> (CallbackHead.Result, target: String?) {
    let bytes = Array(text.utf8)
    var head = CallbackHead(authorities: ours)
    let result = head.read(bytes.span)
    guard case .target(let range) = result else { return (result, nil) }
    return (result, String(decoding: bytes[range], as: UTF8.self))
  }

  @Test func `the target of a callback is read in pieces of any size`() {
    let text = "GET /callback?code=a&state=b HTTP/1.1\r\nhOsT:\t127.0.0.1:4711 \r\nAccept: */*\r\nX:\r\n\r\nmore"
    #expect(read(text).target == "/callback?code=a&state=b")
    let bytes = Array(text.utf8)
    for piece in 1...bytes.count {
      var head = CallbackHead(authorities: ours)
      var results: [CallbackHead.Result] = []
      for count in stride(from: piece, through: bytes.count, by: piece) {
        results.append(head.read(bytes.span.extracting(first: count)))
        if results.last != .needsMore { break }
      }
      if bytes.count % piece == 0 || results.last != .needsMore { #expect(results.last == .target(4..<28), "\(piece)") }
      #expect(results.dropLast().allSatisfy { $0 == .needsMore })
    }
  }

  @Test(arguments: [
    "", "Host: localhost:4711\r\n", "Host: 127.0.0.1\r\n", "Host: 127.0.0.1:4712\r\n", "Host: evil.test:4711\r\n",
    "Host:\r\n", "Host: 127.0.0.1:47111\r\n", "Host: 127.0.0.1:4711\r\nHost: 127.0.0.1:4711\r\n",
    "Host: evil.test\r\nHost: 127.0.0.1:4711\r\n", "Host: 127.0.0.1:4711\r\nhost: evil.test\r\n",
    "X-Host: 127.0.0.1:4711\r\n", "Hos: 127.0.0.1:4711\r\n",
  ])
  func `T2: a callback with another host, no host or two hosts is refused`(fields: String) {
    #expect(read("GET / HTTP/1.1\r\n\(fields)\r\n").0 == .wrongHost)
  }

  @Test(arguments: [
    "POST / HTTP/1.1", "get / HTTP/1.1", "GET  / HTTP/1.1", "GET x HTTP/1.1", "GET http://127.0.0.1:4711/ HTTP/1.1",
    "GET / HTTP/2.0", "GET / HTTP/1.2", "GET /", "GET /a b HTTP/1.1", "GET /\u{7F} HTTP/1.1", "GET /ä HTTP/1.1", "",
    "GET  HTTP/1.1", "GET / HTTP/1.1\r\n Host: 127.0.0.1:4711", "GET / HTTP/1.1\r\nHost : 127.0.0.1:4711",
    "GET / HTTP/1.1\r\n: x", "GET / HTTP/1.1\r\nnothing",
  ])
  func `a callback that is not a valid GET request is refused`(text: String) {
    #expect(read(text + "\r\nHost: 127.0.0.1:4711\r\n\r\n").0 == .invalid)
  }
}
