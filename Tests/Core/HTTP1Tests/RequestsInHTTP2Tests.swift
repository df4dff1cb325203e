import HTTP1
import HTTP2
import Primitives
import Testing

/// Each row of the tests of HTTP/1.1 heads, sent to an upstream over HTTP/2.
@Suite struct RequestsInHTTP2Tests {
  /// Fields that HTTP/2 does not have, or that the request has in another form.
  private static let omitted: Set = [
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
  ]

  @Test(arguments: RequestHeadTests.rows.filter { $0.head.method != "CONNECT" })
  func `T16: a request that HTTP1 accepts says the same in HTTP2, and is well-formed`(
    _ row: RequestHeadTests.Row
  ) throws {
    let length: UInt64? = if case .length(let count) = row.head.body { count } else { nil }
    let body = Array("hello".utf8.prefix(row.head.body == .none ? 0 : Int(min(length ?? 5, 5))))
    let isWhole = length ?? 5 <= 5
    let (block, data, isEnded) = try Self.received(row, body: body, endsBody: isWhole)
    #expect(data == body && isEnded == isWhole)

    let fields = block.lines.map { (text(block.bytes[$0.name]), block.bytes[$0.value]) }
    #expect(fields.prefix(4).map(\.0) == [":method", ":scheme", ":authority", ":path"])
    for (name, value) in fields.dropFirst(4) {
      #expect(name.wholeMatch(of: #/[-!#$%&'*+.^_`|~0-9a-z]+/#) != nil, "\(name)")
      #expect(name == "content-length" ? length != nil : !Self.omitted.contains(name), "\(name)")
      #expect(!value.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "\(name)")
    }

    var written = ByteBuffer()
    try block.writeRequest(hasBody: !body.isEmpty, to: &written)
    let bytes = Array(written.contents)
    var head = RequestHead()
    #expect(try readRequest(bytes, cutAt: [bytes.count], into: &head) == bytes.count)
    let read = ReadRequest(head)
    #expect(read.method == row.head.method && read.target == row.head.target && read.host == "up.test")
    #expect(read.body == row.head.body)
    let own = ["host: up.test"] + (length.map { ["content-length: \($0)"] } ?? [])
    let lines = row.head.fields.map { field -> (name: String, line: String) in
      let name = field.prefix { $0 != ":" }
      return (name.lowercased(), name.lowercased() + field.dropFirst(name.count))
    }
    let kept = lines.filter { !Self.omitted.contains($0.name) }.map(\.line)
    #expect(Set(read.fields.filter { !$0.hasPrefix("transfer-encoding") }) == Set(own + kept))
    #expect(read.fields.count == own.count + kept.count + (row.head.body == .chunked ? 1 : 0))
  }

  /// Sends the row with all its fields to a server. Returns what has arrived.
  private static func received(
    _ row: RequestHeadTests.Row, body: [UInt8], endsBody: Bool
  ) throws -> (HeaderBlock, [UInt8], isEnded: Bool) {
    var head = RequestHead()
    let text = Array(row.text.utf8)
    _ = try readRequest(text, cutAt: [text.count], into: &head)
    var request = OutgoingRequest()
    request.begin(method: Array(head.bytes[head.methodRange]).span, authority: Array("up.test".utf8))
    request.line.append(contentsOf: head.bytes[head.target])
    for field in head.fields { FieldWriter.field(field, of: head.bytes, to: &request.fields) }
    request.bodyLength = head.bodyLength
    let (client, server) = (try HTTP2Session(.client), try HTTP2Session(.server))
    var bytes: [UInt8] = []
    _ = try HTTP2RequestFields().send(request, body: body.span, endsBody: endsBody, scheme: "http", through: client) {
      bytes += $0
    }
    try client.send { bytes += $0 }
    try server.receive(bytes.span)
    var (block, data, isEnded) = (HeaderBlock(), [UInt8](), false)
    while let event = server.nextEvent() {
      switch event {
      case .head(_, let head): block = head
      case .data(_, let range): data += bytes[range]
      case .end: isEnded = true
      case .settings: break
      case .trailers, .failed, .refused, .drained, .goAway, .pong: Issue.record("\(event)")
      }
    }
    return (block, data, isEnded)
  }

  private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
