import HTTP1
import Primitives
import Testing

@Suite struct MessageWriterTests {
  private func write(_ head: RequestHead) -> [UInt8] {
    var output = ByteBuffer()
    let bytes = head.bytes.span
    output.append(bytes.extracting(head.methodRange))
    output.append(" ")
    output.append(bytes.extracting(head.target))
    output.append(" HTTP/1.1\r\n")
    for field in head.fields { FieldWriter.field(field, of: head.bytes, to: &output) }
    FieldWriter.lineEnd(to: &output)
    return Array(output.contents)
  }

  @Test(arguments: RequestHeadTests.rows)
  func `a request is the same after writing and parsing it again`(_ row: RequestHeadTests.Row) throws {
    var head = RequestHead()
    let bytes = Array(row.text.utf8)
    _ = try readRequest(bytes, cutAt: [bytes.count], into: &head)
    let written = write(head)
    var again = RequestHead()
    let isOlder = head.version == .http10
    // The writer always writes HTTP/1.1, which requires Host.
    if isOlder && head.host == nil {
      #expect(throws: MessageError(.missingHost)) {
        _ = try readRequest(written, cutAt: [written.count], into: &again)
      }
      return
    }
    #expect(try readRequest(written, cutAt: [written.count], into: &again) == written.count)
    var expected = row.head
    expected.authority = nil
    #expect(ReadRequest(again) == expected)
  }

  @Test(arguments: ResponseHeadTests.rows)
  func `a response is the same after writing and parsing it again`(_ row: ResponseHeadTests.Row) throws {
    var head = ResponseHead()
    let bytes = latin1(row.text)
    _ = try readResponse(bytes, cutAt: [bytes.count], into: &head)
    var output = ByteBuffer()
    MessageWriter.statusLine(head.status, reason: head.bytes.span.extracting(head.reason), to: &output)
    for field in head.fields {
      FieldWriter.field(
        name: head.bytes.span.extracting(field.name), value: head.bytes.span.extracting(field.value), to: &output)
    }
    FieldWriter.lineEnd(to: &output)
    let written = Array(output.contents)
    var again = ResponseHead()
    #expect(try readResponse(written, cutAt: [written.count], into: &again) == written.count)
    #expect(again.status == row.status)
    #expect(again.text(again.reason) == head.text(head.reason))
    #expect(again.fields.map { again.text($0.value) } == head.fields.map { head.text($0.value) })
    #expect(again.declaredLength == row.length)
  }

  @Test func `messages are appended to the output byte for byte`() {
    var output = ByteBuffer()
    output.append("<")
    let nothing: [UInt8] = []
    let (host, name, reason) = (latin1("b"), latin1("X"), latin1("So"))
    FieldWriter.field(name: "Host", value: host.span, to: &output)
    FieldWriter.field(name: name.span, value: nothing.span, to: &output)
    MessageWriter.framing(.none, to: &output)
    MessageWriter.framing(.untilClose, to: &output)
    MessageWriter.framing(.length(0), to: &output)
    MessageWriter.framing(.length(.max), to: &output)
    MessageWriter.framing(.chunked, to: &output)
    FieldWriter.lineEnd(to: &output)
    MessageWriter.statusLine(200, reason: nothing.span, to: &output)
    MessageWriter.statusLine(999, reason: reason.span, to: &output)
    #expect(
      String(decoding: output.contents, as: UTF8.self)
        == "<Host: b\r\nX: \r\nContent-Length: 0\r\nContent-Length: 18446744073709551615\r\n"
        + "Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 \r\nHTTP/1.1 999 So\r\n")
  }

  @Test(arguments: [0, 1, 9, 10, 15, 16, 99, 100, 255, 256, 4_095, 65_536, 262_144, UInt64.max])
  func `numbers are written in decimal and hexadecimal`(_ number: UInt64) {
    var array: [UInt8] = []
    var output = ByteBuffer()
    array.append(decimal: number)
    output.append(decimal: number)
    #expect(String(decoding: array, as: UTF8.self) == String(number))
    #expect(output.contents == array[...])
    array = []
    output.removeAll()
    array.append(hexadecimal: number)
    output.append(hexadecimal: number)
    #expect(String(decoding: array, as: UTF8.self) == String(number, radix: 16))
    #expect(output.contents == array[...])
  }

  @Test(arguments: ["", "a", "fifteen bytes..", "more than fifteen bytes", "ü"])
  func `texts of every length are appended unchanged`(_ text: String) {
    var array = Array("<".utf8)
    var output = ByteBuffer()
    output.append(UInt8(ascii: "<"))
    array.append(text)
    output.append(text)
    #expect(array == Array("<\(text)".utf8))
    #expect(output.contents == array[...])
    output.append("static text, more than fifteen bytes" as StaticString)
    #expect(output.contents.dropFirst(array.count).elementsEqual("static text, more than fifteen bytes".utf8))
  }

  @Test(arguments: [1, 15, 16, 255, 4_096, 70_000])
  func `written chunks and trailers are parsed back unchanged`(_ size: Int) throws {
    let data = [UInt8](repeating: 0x61, count: size)
    let trailers = Array("X-Sum: 1\r\nY: \r\n".utf8)
    let fields = [
      Field(name: 0..<5, value: 7..<8, known: .other), Field(name: 10..<11, value: 13..<13, known: .other),
    ]
    var buffer = ByteBuffer()
    for _ in 0..<2 {
      MessageWriter.chunk(data.span, to: &buffer)
    }
    MessageWriter.lastChunk(trailers: fields, of: trailers, to: &buffer)
    let output = Array(buffer.contents)
    let body = try readBody(.chunked, output, cutAt: [output.count])
    #expect(body == ReadBody(data: data + data, taken: output.count, hasEnded: true, trailers: ["X-Sum=1", "Y="]))
  }
}
