import HTTP1
import Testing

/// A malformed response head is repaired if it has only one meaning, and otherwise refused (T26).
@Suite struct HeadRepairTests {
  struct Row: CustomTestStringConvertible {
    let fields: String
    let clean: String
    let repairs: HeadRepairs
    var testDescription: String { fields.debugDescription }

    init(_ fields: String, _ clean: String, _ repairs: HeadRepairs) {
      (self.fields, self.clean, self.repairs) = (fields, clean, repairs)
    }
  }

  private static let length = "Content-Length: 2\r\n"
  private static let chunked = "Transfer-Encoding: chunked\r\n"

  /// Received fields, clean fields, and repairs.
  static let rows: [Row] = [
    Row("Expires : 0\r\n" + length, "Expires: 0\r\n" + length, .blankBeforeColon),
    Row("Expires\t: 0\r\n" + length, "Expires: 0\r\n" + length, .blankBeforeColon),
    Row("A \t :\t b \r\n" + length, "A: b\r\n" + length, .blankBeforeColon),
    Row("Content-Length : 2\r\n", length, .blankBeforeColon),
    Row("Transfer-Encoding\t: chunked\r\n", chunked, .blankBeforeColon),
    Row("Connection : close\r\n" + length, "Connection: close\r\n" + length, .blankBeforeColon),
    Row("X-Bad Name: 1\r\n" + length, length, .fieldName),
    Row("Secured by Excellent Serv :\r\n" + length, length, .fieldName),
    Row("cache -control: no-store\r\n" + length, length, .fieldName),
    Row(": 1\r\n" + length, length, .fieldName),
    Row("X(1): 1\r\nA: b\r\n" + length, "A: b\r\n" + length, .fieldName),
    Row("X\u{1}: \u{1}\r\n" + length, length, .fieldName),
    Row("\u{E4}: 1\r\n" + length, length, .fieldName),
    Row("X Y: 1\r\n 2\r\n\t3\r\n" + length, length, [.fieldName, .foldedField]),
    Row("A: b\r\n c\r\n" + length, "A: b c\r\n" + length, .foldedField),
    Row("A: b \r\n\t c \r\n  d\r\n" + length, "A: b c d\r\n" + length, .foldedField),
    Row("A:\r\n b\r\n" + length, "A:  b\r\n" + length, .foldedField),
    Row("A: b\r\n \t\r\n" + length, "A: b\r\n" + length, .foldedField),
    Row(
      "A: b\r\n Transfer-Encoding: chunked\r\n" + length, "A: b Transfer-Encoding: chunked\r\n" + length, .foldedField),
    Row("X-Content-Length: 1\r\n 2\r\n" + length, "X-Content-Length: 1 2\r\n" + length, .foldedField),
    Row("A: b\n" + length, "A: b\r\n" + length, .lineFeed),
    Row(length + length, length, .equalLengths),
    Row("Content-Length: 2, 2\r\n", length, .equalLengths),
    Row("Content-Length: 2\t,2 , 02\r\nContent-Length: 2\r\n", length, .equalLengths),
    Row(chunked + chunked, chunked, .repeatedChunked),
    Row("Transfer-Encoding: chunked, Chunked\r\n", chunked, .repeatedChunked),
    Row(length + chunked, chunked, .lengthBesideChunked),
    Row(chunked + length, chunked, .lengthBesideChunked),
    Row(
      chunked + "Transfer-Encoding : chunked\r\n" + length + length, chunked,
      [.blankBeforeColon, .repeatedChunked, .equalLengths, .lengthBesideChunked]),
  ]

  private static func head(_ fields: String, end: String = "\r\n") -> [UInt8] {
    latin1("HTTP/1.1 200 OK\r\n" + fields + end)
  }

  @Test(arguments: rows)
  func `repairable response heads are repaired the same at every split`(_ row: Row) throws {
    let bytes = Self.head(row.fields)
    for text in [bytes, bytes + latin1("ok\r\n\r\n")] {
      for ends in waysToCut(text.count) {
        var head = ResponseHead()
        #expect(try readResponse(text, cutAt: ends, repairs: true, into: &head) == bytes.count)
        #expect(head.bytes == Self.head(row.clean))
        #expect(head.repairs == row.repairs && !head.isKeepAlive)
      }
    }
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\nContent-Length: 2\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\n", "HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\n",
  ])
  func `lines that end with LF only are repaired, also the first and the last line`(_ text: String) throws {
    var head = ResponseHead()
    #expect(
      try readResponse(latin1(text + "\nok"), cutAt: [text.utf8.count + 3], repairs: true, into: &head)
        == text.utf8.count)
    #expect(head.repairs == .lineFeed && head.declaredLength == .length(2))
    #expect(head.bytes == Self.head(Self.length))
  }

  @Test func `a clean head after a repaired head is left unchanged`() throws {
    var reader = HeadReader(limits: .forResponses, repairs: true)
    var head = ResponseHead()
    for row in Self.rows {
      #expect(try reader.readResponse(Self.head(row.fields).span, into: &head) != nil)
      let clean = Self.head(row.clean.replacing(":  b", with: ": b"))
      #expect(try reader.readResponse(clean.span, into: &head) == clean.count)
      #expect(head.repairs.isEmpty && head.bytes == clean)
    }
  }

  static let refusals: [(MessageError.Reason, String)] = [
    (.noColon, "no colon\r\n"), (.noColon, "nocolon\r\n"), (.noColon, "A : b\r\nnocolon\n"), (.noColon, "<html>\r\n"),
    // what could frame the body for others
    (.badFieldName, "Content Length: 2\r\n"), (.badFieldName, "Content-Length\u{B}: 2\r\n"),
    (.badFieldName, "X Transfer-Encoding: chunked\r\n"), (.badFieldName, "Transfer\u{A0}Encoding: chunked\r\n"),
    (.badFieldName, "(Connection): close\r\n"), (.badFieldName, "\"TE\": x\r\n"),
    (.badFieldName, "Upgrade x: a\r\nTrailer\u{7F}: b\r\n"),
    (.obsoleteFolding, "A : b\r\nContent-Length: 2\r\n 3\r\n"),
    (.obsoleteFolding, "A : b\r\nTransfer-Encoding: chunked\r\n x\r\n"),
    (.obsoleteFolding, "Connection: close\r\n keep-alive\r\n"), (.obsoleteFolding, "Content_Length: 2\r\n 3\r\n"),
    (.obsoleteFolding, " A: b\r\n"), (.obsoleteFolding, "\tA: b\r\n"), (.obsoleteFolding, " \r\n"),
    (.badContentLength, "Content-Length:\r\n 2\r\n"), (.badTransferEncoding, "Transfer-Encoding:\r\n chunked\r\n"),
    // different lengths, and other framing
    (.duplicateContentLength, "Content-Length: 2\r\nContent-Length: 3\r\n"),
    (.duplicateContentLength, "Content-Length: 2, 3\r\n"),
    (.duplicateContentLength, chunked + "Content-Length: 2\r\nContent-Length: 3\r\n"),
    (.badContentLength, chunked + "Content-Length: x\r\n"), (.badContentLength, "Content-Length: 2,\r\n"),
    (.badContentLength, "Content-Length: 2 2\r\n"), (.badContentLength, length + "Content-Length: +2\r\n"),
    (.badTransferEncoding, "Transfer-Encoding: chunked, gzip\r\n"),
    (.badTransferEncoding, "Transfer-Encoding: chunked,\r\n"),
    (.unknownTransferCoding, length + "Transfer-Encoding: gzip\r\n"),
    (.unknownTransferCoding, "Transfer-Encoding: gzip, chunked\r\n"),
    (.badTransferEncoding, "A : b\r\nTransfer-Encoding: chunked, gzip, chunked\r\n"),
    // bytes that no repair makes good
    (.badFieldValue, "A: \0\r\n"), (.badFieldValue, "A : \0\r\n"), (.badFieldName, "A B: \0\r\n"),
    (.badFieldName, "A\0: b\r\n"),
    (.badFieldValue, "A: b\r\n \0\r\n"), (.badFieldValue, "A : \u{1}\r\n"), (.badFieldValue, "A: b\r\n \u{1B}\r\n"),
    (.bareCarriageReturn, "A : b\rc\r\n"), (.bareCarriageReturn, "A: b\n\rC: d\r\n"),
    (.bareCarriageReturn, "A B\r: d\r\n"),
    (.bareCarriageReturn, "A : b\r\r\n"),
  ]

  @Test(arguments: refusals)
  func `heads that cannot be repaired are refused with the same reason at every split`(
    _ reason: MessageError.Reason, _ fields: String
  ) {
    #expect(refusal(of: Self.head(fields), isResponse: true, repairs: true)?.reason == reason)
  }

  @Test func `transfer codings in an HTTP/1.0 response are refused (RFC 9112 §6.1)`() {
    let text = latin1("HTTP/1.0 200 OK\r\nA : b\r\nTransfer-Encoding: chunked\r\n\r\n")
    #expect(refusal(of: text, isResponse: true, repairs: true)?.reason == .transferEncodingInHTTP10)
  }

  @Test(
    arguments: [
      (.spaceBeforeColon, "A : b\r\n"), (.badFieldName, "X Y: 1\r\n"), (.obsoleteFolding, "A: b\r\n c\r\n"),
      (.bareLineFeed, "A: b\n"), (.duplicateContentLength, length + length),
      (.duplicateContentLength, "Content-Length: 2, 2\r\n"),
      (.duplicateTransferEncoding, chunked + chunked),
      (.duplicateTransferEncoding, "Transfer-Encoding: chunked, chunked\r\n"),
      (.lengthWithTransferEncoding, length + chunked), (.noColon, "no colon\r\n"),
    ] as [(MessageError.Reason, String)])
  func `a strict reader reports what would need repair`(_ reason: MessageError.Reason, _ fields: String) {
    #expect(refusal(of: Self.head(fields), isResponse: true)?.reason == reason)
  }

  @Test(arguments: [
    ("A: b\r\nno colon\r\n", 3, nil), ("A: \0\r\n", 2, "A"), ("A: b\r\nB: c\r\nC : \0\r\n", 4, "C"),
    ("A: b\r\nContent-Length: x\r\n", 3, "Content-Length"),
    ("Content-Length: 2\r\nA: b\r\ncontent-length: 3\r\n", 4, "content-length"),
    ("A: b\r\n c\r\nTransfer-Encoding: chunked, gzip\r\nB: c\r\n", 4, "Transfer-Encoding"),
    ("Connection: a\r\n b\r\n", 3, "Connection"), ("Content Length: 2\r\n", 2, nil),
  ])
  func `the error names the line and the field`(_ fields: String, _ line: Int, _ name: String?) throws {
    let bytes = Self.head(fields)
    let error = try #require(refusal(of: bytes, isResponse: true, repairs: true))
    #expect(error.fault.line == line)
    #expect(error.fault.name.map { String(decoding: bytes[$0], as: UTF8.self) } == name)
  }

  @Test func `the error for too many fields has their number and the limit`() throws {
    var limits = HeadLimits.forResponses
    limits.fields = 4
    let fields = String(repeating: "A: b\r\n", count: 7)
    for repairs in [true, false] {
      let error = try #require(refusal(of: Self.head(fields), limits: limits, isResponse: true, repairs: repairs))
      #expect(error.reason == .tooManyFields && error.fault.count == 7)
      #expect(error.fault.limit == MessageLimit(.fields, 4))
    }
    let dropped = try #require(
      refusal(of: Self.head(String(repeating: "A B: c\r\n", count: 5)), limits: limits, isResponse: true, repairs: true)
    )
    #expect(dropped.reason == .tooManyFields && dropped.fault.count == 5)
    let folds = "A: b\r\n" + String(repeating: " c\r\n", count: 4)
    let folded = try #require(refusal(of: Self.head(folds), limits: limits, isResponse: true, repairs: true))
    #expect(folded.reason == .tooManyFields && folded.fault.count == 5, "a line that continues a field counts as one")
  }

  @Test func `an oversized head is refused at the limit, also during a repair`() throws {
    var limits = HeadLimits.forResponses
    limits.headBytes = 100
    let text = Self.head("A : " + String(repeating: "b", count: 200), end: "")
    let error = try #require(refusal(of: text, limits: limits, isResponse: true, repairs: true))
    #expect(error.reason == .headTooLarge && error.fault.limit == MessageLimit(.head, 100))
    let lines = latin1("HTTP/1.1 200 OK\n" + String(repeating: "A: b\n", count: 16) + "\n")
    var head = ResponseHead()
    limits.headBytes = lines.count
    #expect(try readResponse(lines, cutAt: [lines.count], limits: limits, repairs: true, into: &head) == lines.count)
  }

  @Test func `the default limits of a response allow 256 KiB and 1,024 fields`() throws {
    var head = ResponseHead()
    let most = Self.head(String(repeating: "A: b\r\n", count: 1_024))
    #expect(try readResponse(most, cutAt: [most.count], limits: .forResponses, into: &head) == most.count)
    let long = Self.head("A: " + String(repeating: "b", count: 200_000) + "\r\n")
    #expect(try readResponse(long, cutAt: [long.count], limits: .forResponses, into: &head) == long.count)
  }
}
