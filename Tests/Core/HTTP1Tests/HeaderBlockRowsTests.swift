import HTTP1
import Primitives
import Testing

/// Each row of the tests of HTTP/1.1 heads, as an HTTP/2 message: HTTP/2 is no way around a refusal (T16).
@Suite struct HeaderBlockRowsTests {
  // MARK: requests

  /// Faults that only the text of an HTTP/1.1 head can have: HTTP/2 has no request line and no version.
  private static let textual: Set<MessageError.Reason> = [.badRequestLine, .unsupportedVersion, .tlsHandshake]

  private static let refused =
    RequestRefusalTests.firstLines + RequestRefusalTests.targets + RequestRefusalTests.fields
    + RequestRefusalTests.framing

  @Test(arguments: refused.filter { !textual.contains($0.reason) }, [true, false])
  func `T16: a request that HTTP1 refuses is refused in HTTP2`(_ row: RequestRefusalTests.Row, hasAuthority: Bool) {
    let block = Self.block(ofRequest: latin1(row.text), hasAuthority: hasAuthority)
    for hasBody in [true, false] {
      #expect(Self.read(block, hasBody: hasBody) == nil, "\(row.text.debugDescription)")
    }
  }

  /// Rows without a form in HTTP/2: the version 1.0, and targets in absolute form, which have an `:authority` instead.
  @Test(arguments: RequestHeadTests.rows.filter { $0.head.version != .http10 })
  func `T16: a request that HTTP1 accepts is the same in HTTP2, or is refused`(_ row: RequestHeadTests.Row) throws {
    let text = Array(row.text.utf8)
    let end = try #require(text.firstRange(of: Array("\r\n\r\n".utf8), after: 4)).upperBound
    let block = Self.block(ofRequest: Array(text[..<end]), hasAuthority: true)
    let read = Self.read(block, hasBody: row.head.body != .none && row.head.body != .length(0))
    let names = row.head.fields.map { $0.prefix { $0 != ":" }.lowercased() }
    if row.head.authority != nil || names.contains("connection") || names.contains("transfer-encoding") {
      #expect(read == nil)
      return
    }
    var expected = row.head
    let isConnect = row.head.method == "CONNECT"
    if isConnect { expected.host = expected.target }
    expected.fields = ["host: \(expected.host ?? "")"]
    for (name, field) in zip(names, row.head.fields) where name != "host" {
      expected.fields.append(name + field.dropFirst(name.count))
    }
    #expect(read == expected)
  }

  /// Returns the request, or `nil` if it is refused.
  private static func read(_ block: HeaderBlock, hasBody: Bool) -> ReadRequest? {
    var text = ByteBuffer()
    var head = RequestHead()
    do throws(MessageError) {
      try block.writeRequest(hasBody: hasBody, to: &text)
      let bytes = Array(text.contents)
      guard try readRequest(bytes, cutAt: [bytes.count], into: &head) == bytes.count else {
        Issue.record("the text has more than a head")
        return nil
      }
      return ReadRequest(head)
    } catch {
      return nil
    }
  }

  private static func block(ofRequest text: [UInt8], hasAuthority: Bool) -> HeaderBlock {
    let lines = lines(of: text)
    let first = lines.first ?? []
    let method = first.prefix { $0 != 0x20 }
    var target = first.dropFirst(method.count + 1)
    if let end = target.lastIndex(of: 0x20), target[end...].dropFirst().starts(with: Array("HTTP/".utf8)) {
      target = target[..<end]
    }
    let isConnect = method.elementsEqual("CONNECT".utf8)
    let fields = fields(lines.dropFirst()).filter { !isConnect || $0.name != Array("host".utf8) }
    var block = HeaderBlock()
    block.append(":method", Array(method))
    if !isConnect {
      block.append(":scheme", Array("http".utf8))
      block.append(":path", Array(target))
    }
    let host = fields.first { $0.name == Array("host".utf8) }?.value
    if isConnect {
      block.append(":authority", Array(target))
    } else if hasAuthority, let host {
      block.append(":authority", host)
    }
    for field in fields { block.append(name: field.name.span, value: field.value.span) }
    return block
  }

  // MARK: responses

  /// Rows whose fault is in a field. HTTP/2 has no status line, and each of its fields has a name and a value.
  private static let refusedResponses = ResponseHeadTests.refusals.filter { reason, text in
    reason != .noColon && ["200 OK", "204 No"].contains { text.utf8.starts(with: "HTTP/1.1 \($0)\r\n".utf8) }
  }.map(\.1)

  @Test(arguments: refusedResponses)
  func `T26: a response that HTTP1 refuses is refused in HTTP2`(_ text: String) {
    let block = Self.block(ofResponse: latin1(text))
    #expect(Self.response(block) == nil, "\(text.debugDescription)")
  }

  @Test(arguments: ResponseHeadTests.rows.map(\.text))
  func `T26: a response that HTTP1 accepts is the same in HTTP2, or is refused`(_ text: String) throws {
    var head = ResponseHead()
    let bytes = latin1(text)
    _ = try readResponse(bytes, cutAt: [bytes.count], into: &head)
    let read = Self.response(Self.block(ofResponse: bytes))
    let names = head.fields.map { head.text($0.name).lowercased() }
    if head.status == 101 || names.contains("connection") || names.contains("transfer-encoding") {
      #expect(read == nil)
    } else {
      #expect(read?.status == head.status && read?.declaredLength == head.declaredLength)
      #expect(read?.fields.map { read?.text($0.name) ?? "" } == names)
    }
  }

  private static func response(_ block: HeaderBlock) -> ResponseHead? {
    var text = ByteBuffer()
    var head = ResponseHead()
    do throws(MessageError) {
      try block.writeResponse(to: &text)
      let bytes = Array(text.contents)
      let end = try readResponse(bytes, cutAt: [bytes.count], into: &head)
      return end == bytes.count ? head : nil
    } catch {
      return nil
    }
  }

  private static func block(ofResponse text: [UInt8]) -> HeaderBlock {
    let lines = lines(of: text)
    let status = (lines.first ?? []).drop { $0 != 0x20 }.dropFirst()
    var block = HeaderBlock()
    // Without the reason phrase, if there is one.
    block.append(":status", Array(status.prefix { $0 != 0x20 }))
    for field in fields(lines.dropFirst()) { block.append(name: field.name.span, value: field.value.span) }
    return block
  }

  // MARK: lines

  /// The lines before the first empty line. A folded line is a part of the line before it.
  private static func lines(of text: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    for (index, byte) in text.enumerated() {
      line.append(byte)
      guard line.suffix(2) == [0x0D, 0x0A] else { continue }
      let isFolded = index + 1 < text.count && [0x20, 0x09].contains(text[index + 1])
      if isFolded { continue }
      line.removeLast(2)
      if line.isEmpty, !lines.isEmpty { return lines }
      if !line.isEmpty { lines.append(line) }
      line = []
    }
    return line.isEmpty ? lines : lines + [line]
  }

  /// Names in lower case, and values without surrounding blanks.
  private static func fields(_ lines: some Sequence<[UInt8]>) -> [(name: [UInt8], value: [UInt8])] {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    return lines.map { line in
      let name = line.prefix { $0 != UInt8(ascii: ":") }
      var value = line.dropFirst(name.count + 1).drop(while: isBlank)
      while let last = value.last, isBlank(last) { value.removeLast() }
      return (name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, Array(value))
    }
  }
}

extension HeaderBlock {
  fileprivate mutating func append(_ name: String, _ value: [UInt8]) {
    append(name: Array(name.utf8).span, value: value.span)
  }
}
