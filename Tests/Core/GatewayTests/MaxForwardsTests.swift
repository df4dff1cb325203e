import Gateway
import HTTP1
import Policy
import Testing

/// Max-Forwards limits the hops of an OPTIONS request (RFC 9110 §7.6.2, T18).
@Suite struct MaxForwardsTests {
  private func ask(_ fields: String..., method: String = "OPTIONS", version: String = "1.1") throws -> Conversation {
    var head = "\(method) /api/x HTTP/\(version)\r\nHost: localhost:7070\r\n"
    for field in fields { head += field + "\r\n" }
    return exchange(head + "\r\n", nil, try snapshot())
  }

  @Test(arguments: [
    ("1", "0"), ("2", "1"), ("010", "9"), ("100", "99"), ("0000000000000000000000000000001", "0"),
    // RFC 9110: at most the recipient's maximum.
    ("1000001", "999999"), ("99999999999999999999999999", "999999"),
  ])
  func `T18: an OPTIONS request is forwarded with Max-Forwards reduced by one`(_ given: String, _ sent: String) throws {
    let played = try ask("X-Before: 1", "max-forwards: \(given)", "X-After: 2")
    #expect(head(played.request).dropFirst(2) == ["X-Before: 1", "Max-Forwards: \(sent)", "X-After: 2"])
  }

  @Test(arguments: ["0", "00", "0 ", "000000000000000000000000000000000"])
  func `T18: bearerd responds to Max-Forwards: 0 itself`(_ value: String) throws {
    let played = try ask("Max-Forwards: \(value)")
    #expect(
      played.response
        == "HTTP/1.1 204 No Content\r\nAllow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\nCache-Control: no-store\r\n\r\n"
    )
    #expect(played.begun == 0 && played.sessions.isEmpty && !played.isOver)
    let record = try #require(played.records.last)
    #expect(record.status == 204 && record.serviceAndRule == nil && record.isOrdinary && !record.isPreflight)
  }

  @Test func `T18: the request after Max-Forwards: 0 is forwarded as usual`() throws {
    var played = try ask("Max-Forwards: 0")
    played.client(get())
    #expect(played.request.hasPrefix("GET /base/x HTTP/1.1\r\n") && played.begun == 1)
  }

  @Test func `T18: the body of a request with Max-Forwards: 0 is not read as the next request`() throws {
    let played = try ask("Max-Forwards: 0", "Content-Length: 10")
    #expect(status(played.response) == "204" && value("Connection", played.response) == "close" && played.isOver)
    #expect(value("Connection", try ask("Max-Forwards: 0", version: "1.0").response) == "close")
  }

  @Test(arguments: ["", "-1", "+1", "1.0", "0x1", "1,2", "0, 5", "\"0\"", "1 2", "zero", "\u{0660}"])
  func `T18: a malformed Max-Forwards is refused`(_ value: String) throws {
    let played = try ask("Max-Forwards: \(value)")
    #expect(status(played.response) == "400" && played.response.contains("\"reason\":\"badMaxForwards\""))
    #expect(played.sessions.isEmpty)
  }

  @Test func `T18: a request with two Max-Forwards fields is refused`() throws {
    for fields in [("1", "1"), ("5", "0"), ("0", "5")] {
      let played = try ask("Max-Forwards: \(fields.0)", "Max-Forwards: \(fields.1)")
      #expect(status(played.response) == "400" && played.sessions.isEmpty)
    }
  }

  @Test func `T18: Max-Forwards is forwarded unchanged with other methods`() throws {
    for method in ["GET", "POST", "options", "PROPFIND"] {
      for value in ["0", "7", "x"] {
        let played = try ask("Max-Forwards: \(value)", method: method)
        #expect(head(played.request).contains("Max-Forwards: \(value)"), "\(method)")
      }
    }
  }

  @Test func `T18: a request with Max-Forwards: 0 has to pass all checks`() throws {
    let denied = try snapshot { $0.rules = [] }
    let head = "OPTIONS /api/x HTTP/1.1\r\nHost: localhost:7070\r\nMax-Forwards: 0\r\n\r\n"
    #expect(status(exchange(head, nil, denied).response) == "403")
    var stranger = Conversation(try snapshot(), caller: Caller(uid: 7))
    stranger.client(head)
    #expect(status(stranger.response) == "403")
    #expect(status(exchange(head.replacing("localhost", with: "evil.test"), nil, try snapshot()).response) == "421")
    #expect(status(exchange(head.replacing("/api/x", with: "/api/../x"), nil, try snapshot()).response) == "400")
  }

  @Test func `explain says that bearerd responds to Max-Forwards: 0 itself`() throws {
    let bytes = Array("OPTIONS /api/x HTTP/1.1\r\nHost: localhost:7070\r\nMax-Forwards: 0\r\n\r\n".utf8)
    var (reader, head) = (HeadReader(limits: HeadLimits()), RequestHead())
    #expect(try reader.readRequest(bytes.span, into: &head) == bytes.count)
    let explained = Explanation(head, caller: caller, listener: 0, snapshot: try snapshot())
    #expect(explained.isFinalRecipient && explained.refusal == nil && explained.route == nil && explained.grant == nil)
    #expect(explained.upstreamHead.isEmpty)
  }
}
