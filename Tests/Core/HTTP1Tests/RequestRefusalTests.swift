import HTTP1
import Testing

@Suite struct RequestRefusalTests {
  struct Row: CustomTestStringConvertible {
    let reason: MessageError.Reason
    let status: Int
    let text: String
    var testDescription: String { "\(reason) \(text.debugDescription)" }

    init(_ reason: MessageError.Reason, _ text: String) { self.init(reason, 400, text) }

    init(_ reason: MessageError.Reason, _ status: Int, _ text: String) {
      self.reason = reason
      self.status = status
      self.text = text
    }
  }

  static let firstLines: [Row] = [
    Row(.badMethod, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badMethod, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badMethod, "\0\r\n"),
    Row(.tlsHandshake, "\u{16}\u{03}\u{01}\u{02}\0\u{01}\0\u{01}\u{FC}\u{03}\u{03}"),
    Row(.badMethod, "G\u{16}\u{03}\u{01}"),
    Row(.badMethod, "\u{80}GET / HTTP/1.1\r\n"),
    Row(.badMethod, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badMethod, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n"),
    Row(.badRequestLine, "GET\r\n\r\n"),
    Row(.bareLineFeed, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.bareLineFeed, "GET\n"),
    Row(.bareCarriageReturn, "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / http/1.1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / HTTP/11\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / HTTP/1.\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / HTTP/1,1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / HTTPS/1.1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badRequestLine, "GET / \r\n"),
    Row(.bareLineFeed, "GET / HTTP/1.1\nHost: a\n\n"),
    Row(.bareCarriageReturn, "GET / HTTP/1.1\rHost: a\r\n\r\n"),
    Row(.unsupportedVersion, 505, "GET /\r\n"),
    Row(.unsupportedVersion, 505, "GET / HTTP/0.9\r\n\r\n"),
    Row(.unsupportedVersion, 505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    Row(.unsupportedVersion, 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  ]

  static let targets: [Row] = [
    Row(.fragmentInTarget, "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.fragmentInTarget, "GET # HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.fragmentInTarget, "GET http://a/#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.userinfoInTarget, "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.userinfoInTarget, "GET http://u:p@a?b HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.userinfoInTarget, "GET http://a\\@evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.forbiddenInTarget, "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.forbiddenInTarget, "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.forbiddenInTarget, "GET /a\u{7F} HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http://\u{E9}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET \u{E9} HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.bareLineFeed, "GET /a\nb HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.bareCarriageReturn, "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET a/b HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET ?a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET \\ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "OPTIONS *?a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http:/abc/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http:abc/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http: HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET httpss://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http:// HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http://a\\b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "GET localhost:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "CONNECT http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Row(.badTarget, "CONNECT u@a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
  ]

  static let fields: [Row] = [
    Row(.badFieldName, "GET / HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n"),
    Row(.noColon, "GET / HTTP/1.1\r\nHost\r\n\r\n"),
    Row(.noColon, "GET / HTTP/1.1\r\nX\rY: a\r\n\r\n"),
    Row(.badFieldName, "GET / HTTP/1.1\r\nX(Y: a\r\n\r\n"),
    Row(.badFieldName, "GET / HTTP/1.1\r\nX\0Y: a\r\n\r\n"),
    Row(.badFieldName, "GET / HTTP/1.1\r\nX\u{E4}Y: a\r\n\r\n"),
    Row(.badFieldName, "GET / HTTP/1.1\r\n\"X\": a\r\n\r\n"),
    Row(.bareLineFeed, "GET / HTTP/1.1\r\nX\nY: a\r\n\r\n"),
    Row(.bareLineFeed, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
    Row(.spaceBeforeColon, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    Row(.spaceBeforeColon, "GET / HTTP/1.1\r\nAuthorization\t: a\r\n\r\n"),
    Row(.spaceBeforeColon, "GET / HTTP/1.1\r\nX Y: a\r\n\r\n"),
    Row(.obsoleteFolding, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
    Row(.obsoleteFolding, "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"),
    Row(.obsoleteFolding, "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n"),
    Row(.obsoleteFolding, "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n \r\n\r\n"),
    Row(.bareCarriageReturn, "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"),
    Row(.bareCarriageReturn, "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n"),
    Row(.bareCarriageReturn, "GET / HTTP/1.1\r\nHost: a\r\n\rX: b\r\n\r\n"),
    Row(.bareLineFeed, "GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n"),
    Row(.bareLineFeed, "GET / HTTP/1.1\r\nHost: a\r\nX: \nY: b\r\n\r\n"),
    Row(.badFieldValue, "GET / HTTP/1.1\r\nHost: a\r\nX: a\0\r\n\r\n"),
    Row(.badFieldValue, "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1B}[m\r\n\r\n"),
    Row(.badFieldValue, "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0B}\r\n\r\n"),
    Row(.badFieldValue, "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{7F}\r\n\r\n"),
    Row(.missingHost, "GET / HTTP/1.1\r\n\r\n"),
    Row(.missingHost, "GET / HTTP/1.1\r\nX-Host: a\r\n\r\n"),
    Row(.missingHost, "GET http://a/ HTTP/1.1\r\n\r\n"),
    Row(.duplicateHost, "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"),
    Row(.duplicateHost, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
    Row(.unknownExpectation, 417, "GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n"),
    Row(.unknownExpectation, 417, "GET / HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n"),
    Row(.unknownExpectation, 417, "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, x\r\n\r\n"),
    Row(
      .unknownExpectation, 417, "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\n"),
  ]

  /// T16: framing that two servers could read differently.
  static let framing: [Row] = [
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:  1 2\r\n\r\n"),
    Row(.duplicateContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1,\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1.0\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \"1\"\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \u{B2}\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\n"),
    Row(.badContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999999\r\n\r\n"),
    Row(.duplicateContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
    Row(.duplicateContentLength, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\n"),
    Row(
      .lengthWithTransferEncoding,
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Row(
      .lengthWithTransferEncoding,
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"),
    Row(
      .lengthWithTransferEncoding,
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: x\r\n\r\n"),
    Row(.unknownTransferCoding, 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n"),
    Row(.unknownTransferCoding, 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunkedx\r\n\r\n"),
    Row(.unknownTransferCoding, 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n"),
    Row(.unknownTransferCoding, 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
    Row(.unknownTransferCoding, 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip , chunked\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n"),
    Row(.duplicateTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a=b\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: 'chunked' x\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunk\u{E9}d\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n"),
    Row(.badFieldValue, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{0B}chunked\r\n\r\n"),
    Row(.spaceBeforeColon, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n"),
    Row(.badTransferEncoding, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"),
    Row(.obsoleteFolding, "POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n"),
    Row(
      .duplicateTransferEncoding,
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Row(
      .badTransferEncoding,
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n"),
    Row(.transferEncodingInHTTP10, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Row(.transferEncodingInHTTP10, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n"),
  ]

  @Test(arguments: firstLines + targets + fields + framing)
  func `malformed request heads are refused with the same reason at every split`(_ row: Row) {
    let error = refusal(of: latin1(row.text))
    #expect(error?.reason == row.reason)
    #expect(error?.status == row.status)
  }

  @Test func `control bytes are refused at every position`() {
    let text = Array("GET /a HTTP/1.1\r\nHost: a\r\nXYZ: abc\r\n\r\n".utf8)
    for byte in [UInt8](0x00...0x1F) + [0x7F] where byte != 0x09 {
      for index in text.indices where text[index] > 0x20 {
        var changed = text
        changed[index] = byte
        var head = RequestHead()
        #expect(throws: MessageError.self, "\(byte) at \(index)") {
          _ = try readRequest(changed, cutAt: [changed.count], into: &head)
        }
      }
    }
  }

  /// The reader scans long runs eight bytes at a time.
  @Test(arguments: [UInt8](0...255))
  func `each byte is accepted or refused the same at every position of a value or target`(_ byte: UInt8) {
    for neighbour in [UInt8(0x61), 0x09, 0xFF, 0x80, 0x21, 0x7E] {
      for index in 0..<20 {
        var value = [UInt8](repeating: neighbour, count: 20)
        value[index] = byte
        let isGood = byte == 0x09 || byte >= 0x20 && byte != 0x7F
        let text = Array("GET / HTTP/1.1\r\nHost: a\r\nX: a".utf8) + value + Array("a\r\n\r\n".utf8)
        #expect(accepts(text) == isGood, "\(byte) at \(index) of a value")
      }
    }
    for neighbour in [UInt8(0x61), 0x21, 0x22, 0x24, 0x7E, 0x80, 0xA3, 0xFF] {
      for index in 0..<20 {
        var target = [UInt8](repeating: neighbour, count: 20)
        target[index] = byte
        let isGood = byte > 0x20 && byte != 0x7F && byte != 0x23
        let text = Array("GET /".utf8) + target + Array("/ HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        #expect(accepts(text) == isGood, "\(byte) at \(index) of a target")
      }
    }
  }

  private func accepts(_ bytes: [UInt8]) -> Bool {
    var head = RequestHead()
    do throws(MessageError) {
      return try readRequest(bytes, cutAt: [bytes.count], into: &head) == bytes.count
    } catch {
      return false
    }
  }

  @Test(arguments: [
    ("\u{16}\u{03}\u{01}", 1), ("\n", 1), ("GET /\u{7F}", 6), ("GET / HTTP/2.0\r\n", 12), ("GET / X", 7),
    ("GET / HTTP/1.1\r\n ", 17), ("GET / HTTP/1.1\r\nA ", 18), ("GET / HTTP/1.1\r\nA: \0", 20),
    ("GET * HTTP/1.1\r\n", 16), ("POST / HTTP/1.1\r\nContent-Length: x\r\n", 36),
  ])
  func `input that cannot become HTTP is refused at its first wrong byte`(_ text: String, _ count: Int) {
    #expect(bytesBeforeRefusal(latin1(text + "more")) == count)
  }

  @Test(arguments: [
    ("GET /a\tb HTTP/1.1\r\n", "tab at byte 3 of the target (its escape is %09)"),
    ("GET \u{1} HTTP/1.1\r\n", "control character at byte 1 of the target (its escape is %01)"),
    ("GET http://a/\u{7F} HTTP/1.1\r\n", "DEL at byte 10 of the target (its escape is %7F)"),
    ("GET /a b HTTP/1.1\r\n", "space at byte 3 of the target (its escape is %20)"),
    ("G(T / HTTP/1.1\r\n", "line 1"), ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n", "line 3"),
    ("GET / HTTP/1.1\r\nX: a\r\nY: b\u{0}\r\n", "line 3"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\nX: y\r\n", "line 3"),
    ("POST / HTTP/1.1\r\nHost: a\r\nHost: a\r\n", "line 3"), ("GET / HTTP/1.1\r\n\r\n", ""),
  ])
  func `the position of an error is the same at every split`(_ text: String, _ position: String) {
    for cut in waysToCut(latin1(text).count) {
      var head = RequestHead()
      do throws(MessageError) {
        _ = try readRequest(latin1(text), cutAt: cut, into: &head)
        Issue.record("\(text) is not refused")
      } catch {
        #expect("\(error.fault)" == position, "\(text) \(cut)")
      }
    }
  }

  @Test func `the error for a large message names the configuration key of the limit`() {
    var limits = HeadLimits()
    (limits.headBytes, limits.fields, limits.targetBytes) = (80, 3, 10)
    for (text, position) in [
      ("GET /" + String(repeating: "a", count: 20), "more than 10 (limits.target)"),
      ("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 80), "more than 80 (limits.head)"),
      ("GET / HTTP/1.1\r\n" + String(repeating: "X: a\r\n", count: 4), "more than 3 (limits.fields)"),
    ] {
      var head = RequestHead()
      do throws(MessageError) {
        _ = try readRequest(Array(text.utf8), cutAt: [text.utf8.count], limits: limits, into: &head)
        Issue.record("\(text) is not refused")
      } catch {
        #expect("\(error.fault)" == position, "\(text)")
      }
    }
  }

  @Test func `every refusal reason has a status code of 4xx or 5xx`() {
    for reason in MessageError.Reason.allCases {
      #expect([400, 414, 417, 431, 501, 505].contains(MessageError(reason).status))
    }
  }
  @Test func `T60: more than 32 Connection options are refused, also in several fields`() {
    func text(_ lines: [Int]) -> [UInt8] {
      let fields = lines.map { "Connection: " + Array(repeating: "x", count: $0).joined(separator: ",") + "\r\n" }
      return Array("GET / HTTP/1.1\r\nHost: a\r\n\(fields.joined())\r\n".utf8)
    }
    #expect(refusal(of: text([16, 16])) == nil)
    #expect(refusal(of: text([17, 16]))?.reason == .tooManyOptions)
    #expect(refusal(of: text([33]))?.status == 431)
  }
}
