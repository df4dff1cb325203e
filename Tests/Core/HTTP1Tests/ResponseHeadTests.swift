import HTTP1
import Testing

@Suite struct ResponseHeadTests {
  struct Row: CustomTestStringConvertible {
    let text: String
    let status: Int
    let reason: String
    let length: BodyLength
    let isKeepAlive: Bool
    var testDescription: String { text.debugDescription }

    init(_ text: String, _ status: Int, _ reason: String, _ length: BodyLength, keepAlive: Bool) {
      self.text = text
      self.status = status
      self.reason = reason
      self.length = length
      isKeepAlive = keepAlive
    }
  }

  static let rows: [Row] = [
    Row("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "OK", .length(5), keepAlive: true),
    Row("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "OK", .length(0), keepAlive: true),
    Row("HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n", 200, "OK", .chunked, keepAlive: true),
    Row("HTTP/1.1 200 OK\r\n\r\n", 200, "OK", .untilClose, keepAlive: false),
    Row("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n", 200, "OK", .untilClose, keepAlive: false),
    Row("HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n", 200, "", .length(5), keepAlive: true),
    Row("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", 200, "", .length(5), keepAlive: true),
    Row("HTTP/1.1 404 \t Not \u{FF} Found \r\n\r\n", 404, "\t Not \u{FF} Found ", .untilClose, keepAlive: false),
    Row("HTTP/1.1 999 x\r\nContent-Length: 1\r\n\r\n", 999, "x", .length(1), keepAlive: true),
    Row("HTTP/1.1 100 Continue\r\n\r\n", 100, "Continue", .untilClose, keepAlive: true),
    Row("HTTP/1.1 204 No\r\n\r\n", 204, "No", .untilClose, keepAlive: true),
    Row("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", 204, "No", .length(0), keepAlive: true),
    Row("HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n", 204, "No", .length(1), keepAlive: false),
    Row("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", 204, "No", .chunked, keepAlive: false),
    Row("HTTP/1.1 304 Not\r\n\r\n", 304, "Not", .untilClose, keepAlive: true),
    Row("HTTP/1.1 304 Not\r\nContent-Length: 9\r\n\r\n", 304, "Not", .length(9), keepAlive: true),
    Row(
      "HTTP/1.1 200 OK\r\nConnection: a, Close\r\nContent-Length: 5\r\n\r\n", 200, "OK", .length(5), keepAlive: false),
    Row("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "OK", .length(5), keepAlive: false),
    Row(
      "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive\r\n\r\n", 200, "OK", .length(5),
      keepAlive: true),
    Row("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", 200, "OK", .untilClose, keepAlive: false),
    Row("HTTP/1.7 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "OK", .length(5), keepAlive: true),
    Row(
      "HTTP/1.1 200 OK\r\nHost: a b\r\nHost: c\r\nExpect: x\r\nContent-Length: 5\r\n\r\n", 200, "OK", .length(5),
      keepAlive: true),
  ]

  @Test(arguments: rows)
  func `valid response heads are parsed the same at every split`(_ row: Row) throws {
    let text = latin1(row.text)
    for bytes in [text, text + Array("HTTP/1.1 200".utf8)] {
      for ends in waysToCut(bytes.count) {
        var head = ResponseHead()
        #expect(try readResponse(bytes, cutAt: ends, into: &head) == text.count)
        #expect(head.bytes == text)
        #expect(head.status == row.status)
        #expect(Array(head.bytes[head.reason]) == latin1(row.reason))
        #expect(head.declaredLength == row.length)
        #expect(head.isKeepAlive == row.isKeepAlive)
        #expect(head.version == (row.text.hasPrefix("HTTP/1.0") ? .http10 : .http11))
        #expect(head.fields.count == row.text.split(separator: "\r\n").count - 1)
      }
    }
  }

  @Test func `one reader parses several responses in a row`() throws {
    let bytes = Self.rows.flatMap { latin1($0.text) }
    var reader = HeadReader(limits: HeadLimits())
    var head = ResponseHead()
    var start = 0
    for row in Self.rows {
      start += try #require(try reader.readResponse(bytes.span.extracting(droppingFirst: start), into: &head))
      #expect(head.bytes == latin1(row.text))
      #expect(head.declaredLength == row.length)
      #expect(head.isKeepAlive == row.isKeepAlive)
    }
    #expect(start == bytes.count)
  }

  @Test func `the body length depends on the request method and the status (RFC 9112 §6.3)`() {
    var head = ResponseHead()
    head.declaredLength = .length(5)
    for (status, method, length) in [
      (200, HTTP1.Method.get, BodyLength.length(5)), (200, .head, .none), (100, .get, .none), (103, .get, .none),
      (204, .get, .none), (205, .get, .length(5)), (304, .get, .none), (404, .head, .none), (500, .post, .length(5)),
    ] {
      head.status = status
      #expect(head.bodyLength(respondingTo: method) == length)
    }
  }

  static let refusals: [(MessageError.Reason, String)] = [
    (.badStatusLine, "\r\nHTTP/1.1 200 OK\r\n\r\n"),
    (.badStatusLine, " HTTP/1.1 200 OK\r\n\r\n"),
    (.http2Frame, "\0\0\u{12}\u{04}\0\0\0\0\0\0\u{03}\0\0\0\u{64}"),
    (.badStatusLine, "\u{15}\u{03}\u{03}\0\u{02}\u{02}"),
    (.badStatusLine, "ICY 200 OK\r\n\r\n"),
    (.badStatusLine, "http/1.1 200 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1  200 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1\t200 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1200 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.10 200 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 20 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 2000 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 099 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 000 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 -20 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 2x0 OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 200_OK\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 200 O\0K\r\n\r\n"),
    (.badStatusLine, "HTTP/1.1 200 O\u{7F}K\r\n\r\n"),
    (.bareLineFeed, "HTTP/1.1 200 OK\n\n"),
    (.bareLineFeed, "HTTP/1.1 200\n\n"),
    (.bareCarriageReturn, "HTTP/1.1 200 OK\rContent-Length: 1\r\n\r\n"),
    (.bareCarriageReturn, "HTTP/1.1 200\rContent-Length: 1\r\n\r\n"),
    (.unsupportedVersion, "HTTP/2.0 200 OK\r\n\r\n"),
    (.unsupportedVersion, "HTTP/0.9 200 OK\r\n\r\n"),
    (.obsoleteFolding, "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"),
    (.spaceBeforeColon, "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n"),
    (.noColon, "HTTP/1.1 200 OK\r\nnocolon\r\n\r\n"),
    (.badFieldValue, "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n"),
    (.bareLineFeed, "HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n"),
    (.bareCarriageReturn, "HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n"),
    (.duplicateContentLength, "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n"),
    (.badContentLength, "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n"),
    (.badContentLength, "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"),
    (.duplicateContentLength, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
    (.duplicateContentLength, "HTTP/1.1 204 No\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
    (.lengthWithTransferEncoding, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
    (.lengthWithTransferEncoding, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
    (.unknownTransferCoding, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    (.unknownTransferCoding, "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n"),
    (.badTransferEncoding, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
    (.transferEncodingInHTTP10, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
  ]

  @Test(arguments: refusals)
  func `malformed response heads are refused with the same reason at every split`(
    _ reason: MessageError.Reason, _ text: String
  ) {
    #expect(refusal(of: latin1(text), isResponse: true)?.reason == reason)
  }
}
