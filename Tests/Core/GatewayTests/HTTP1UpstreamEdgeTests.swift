@testable import Gateway
import HTTP1
import Policy
import Primitives
import Testing

/// HTTP/1 on a connection to an upstream, without an exchange.
@Suite struct HTTP1UpstreamEdgeTests {
  private func edge(sendsChunks: Bool = false, repairs: Bool = true) -> HTTP1UpstreamEdge {
    var edge = HTTP1UpstreamEdge(.forResponses)
    edge.begin(.forResponses, repairs: repairs, sendsChunks: sendsChunks)
    return edge
  }

  private func text(_ output: Output) -> String { String(decoding: output.toUpstream.contents, as: UTF8.self) }

  @Test func `a request body of known length is passed on as a range of the input`() {
    let edge = edge()
    let input = Array("abcdef".utf8)
    var output = Output()
    edge.writeBody(input.span, 1..<3, to: &output)
    edge.writeBody(input.span, 3..<6, to: &output)
    #expect(
      !edge.sendsChunks && output.results.upstreamBody == 1..<6 && output.toUpstream.isEmpty
        && output.results.actions == .sendBody)
  }

  @Test func `a chunked request body ends once, with its trailers`() {
    var edge = edge(sendsChunks: true)
    let input = Array("abcdef".utf8)
    let trailers = Array("T: 1\r\n".utf8)
    var output = Output()
    edge.writeBody(input.span, 0..<2, to: &output)
    for _ in 0..<2 where edge.sendsChunks {
      edge.writeEnd([Field(name: 0..<1, value: 3..<4, known: .other)], of: trailers, to: &output)
    }
    #expect(text(output) == "2\r\nab\r\n0\r\nT: 1\r\n\r\n")
  }

  @Test(arguments: [
    ("", false, ""), ("ab", false, "ab"), ("", true, "0\r\n\r\n"), ("ab", true, "2\r\nab\r\n0\r\n\r\n"),
  ])
  func `a kept body is written as a whole`(body: String, sendsChunks: Bool, expected: String) {
    var edge = UpstreamEdge(.forResponses)
    let length = sendsChunks ? BodyLength.chunked : .length(UInt64(body.utf8.count))
    edge.begin(.forResponses, repairs: true, length: length, over: .http1)
    var output = Output()
    edge.writeWhole(Array(body.utf8), to: &output)
    #expect(!edge.owesEnd)
    #expect(text(output) == expected && output.results.actions.contains(.sendBody) == !expected.isEmpty)
  }

  private func read(_ edge: inout HTTP1UpstreamEdge, _ text: String) throws -> ResponseHead? {
    var head = ResponseHead()
    let bytes = Array(text.utf8)
    var position = 0
    return try edge.readHead(bytes.span, position: &position, into: &head) == nil ? nil : head
  }

  @Test func `T26: a connection with a repaired head serves no other request`() throws {
    var edge = edge()
    #expect(try read(&edge, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")?.isKeepAlive == true)
    #expect(try read(&edge, "HTTP/1.1 200 OK\r\nA : b\r\nContent-Length: 1\r\n\r\n")?.isKeepAlive == false)
    // Also if the repaired head was that of an interim response.
    #expect(try read(&edge, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")?.isKeepAlive == false)
    edge.begin(.forResponses, repairs: true, sendsChunks: false)
    #expect(try read(&edge, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")?.isKeepAlive == true)
  }

  @Test func `a service can refuse heads that need a repair`() {
    var edge = edge(repairs: false)
    #expect(throws: MessageError.self) { try read(&edge, "HTTP/1.1 200 OK\r\nA : b\r\n\r\n") }
  }

  @Test func `the next response is read from its beginning, whatever became of the last one`() throws {
    for unfinished in ["HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 404 No"] {
      var edge = edge()
      #expect(try read(&edge, unfinished) == nil)
      edge.begin(.forResponses, repairs: true, sendsChunks: false)
      #expect(try read(&edge, "HTTP/1.1 204 Gone\r\n\r\n")?.status == 204)
    }
    var edge = edge()
    #expect(try read(&edge, "HTTP/1.1 401 No\r\n\r\n")?.status == 401)
    edge.begin(.forResponses, repairs: true, sendsChunks: false)
    #expect(try read(&edge, "HTTP/1.1 200 OK\r\n\r\n")?.status == 200)
  }

  @Test func `a body without a length is complete when the connection ends, another one is not`() {
    for (length, isComplete) in [(BodyLength.untilClose, true), (.length(3), false), (.chunked, false), (.none, true)] {
      var edge = edge()
      edge.beginBody(length)
      #expect(edge.endBodyAtClose() == isComplete, "\(length)")
    }
  }

  @Test func `an abandoned body ends, and the connection has surplus bytes`() {
    var edge = edge()
    edge.beginBody(.length(1_000_000))
    edge.abandonBody()
    #expect(edge.isBodyComplete && edge.received == .surplus)
    edge.begin(.forResponses, repairs: true, sendsChunks: false)
    #expect(edge.received == .nothing)
  }

  @Test(arguments: [
    ("abc", BodyLength.length(3), true), ("abcd", .length(3), false), ("ab", .length(3), false), ("", .none, true),
    ("x", .none, false), ("1\r\na\r\n0\r\n\r\n", .chunked, true), ("1\r\na\r\n0\r\n\r\nH", .chunked, false),
    ("1\r\na\r\n", .chunked, false), ("zz\r\n", .chunked, false), ("abc", .untilClose, false),
  ])
  func `T17: only a whole body allows another request after a discarded response`(
    input: String, length: BodyLength, isWhole: Bool
  ) {
    #expect(HTTP1UpstreamEdge.isWhole(Array(input.utf8).span, length) == isWhole)
  }

  @Test func `T60: a preview has a bound`() {
    func preview(_ text: String, _ length: BodyLength) -> BodyPreview {
      HTTP1UpstreamEdge.preview(Array(text.utf8).span, length, limit: 8)
    }
    if case .whole(let body) = preview("3\r\nabc\r\n0\r\n\r\n", .chunked) {
      #expect(body == Array("abc".utf8))
    } else {
      Issue.record("a complete body is incomplete")
    }
    guard case .incomplete = preview("abc", .length(4)) else {
      Issue.record("an incomplete body is complete")
      return
    }
    for (text, length) in [("zz\r\n", BodyLength.chunked), ("abcdefghi", .length(9)), ("abcdefgh", .length(100))] {
      guard case .unreadable = preview(text, length) else {
        Issue.record("\(text) is readable")
        continue
      }
    }
  }
}
