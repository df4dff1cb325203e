import HTTP1
import Primitives
import TestSupport
import Testing

/// No value and no name of an HTTP/2 field can become another field, another request or another body.
@Suite struct HeaderBlockRandomTests {
  static let names = [
    "x", "y", "x-long-name", "host", "cookie", "content-length", "transfer-encoding", "te", "connection", "expect",
    ":method", ":path", ":scheme", ":authority", ":protocol", ":status", "", ":", "x:y", "x: a\r\ny", "x\r\n\r\ny",
    "x y",
    "X", "\0", "\u{80}", "x\n",
  ]
  static let values = [
    "", "a", "a b", "a: b", ":", "host:1", "a=1", "b=2; c=3", "5", "0", "chunked", "trailers", "100-continue", "GET",
    "/",
    "/a?b", "*", "OPTIONS", "CONNECT", "http", "https", "websocket", "200", "101", " a", "a\t", "a\r\nx: y", "a\nb",
    "\0", "\u{FF}",
    "\r\n\r\n", "/ HTTP/1.1\r\nx: y", "http://a/", "user@host",
  ]

  /// Returns valid fields with up to three changes.
  private func fields(of valid: Pairs, _ generator: inout SeededGenerator) -> Pairs {
    var fields = valid
    for _ in 0..<Int.random(in: 0..<4, using: &generator) {
      let index = Int.random(in: 0...fields.count, using: &generator)
      let (name, value) = (Self.names.randomElement(using: &generator)!, Self.values.randomElement(using: &generator)!)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0 where index < fields.count: fields.remove(at: index)
      case 1 where index < fields.count: fields[index].value = value
      case 2: fields.insert((name, value), at: index)
      case 3: fields.append((name, value))
      default: fields.append((Self.names[Int.random(in: 0..<10, using: &generator)], value))
      }
    }
    return fields
  }

  private func text(_ fields: [(String, String)]) -> [String] { fields.map { "\($0.0): \($0.1)" } }

  @Test(arguments: 0..<4)
  func `T16: a written response is read with the fields of its block`(_ seed: UInt64) throws {
    var generator = SeededGenerator(state: seed)
    var count = 0
    for _ in 0..<500 {
      let fields = fields(of: [(":status", "200"), ("x", "a")], &generator)
      let block = HeaderBlock(fields)
      guard case .text(let written) = written({ text throws(MessageError) in try block.writeResponse(to: &text) })
      else { continue }
      let bytes = latin1(written)
      var (head, reader) = (ResponseHead(), HeadReader(limits: .forResponses))
      guard let end = try? reader.readResponse(bytes.span, into: &head) else { continue }
      count += 1
      #expect(end == bytes.count)
      #expect("\(head.status)" == fields[0].value)
      let read = head.fields.map { "\(head.latin1($0.name)): \(head.latin1($0.value))" }
      #expect(read == text(fields.dropFirst().map { ($0.name, $0.value.trimmingBlanks) }))
    }
    #expect(count > 100)
  }

  @Test(arguments: 0..<4)
  func `T16: a written request is read with the fields of its block`(_ seed: UInt64) throws {
    var generator = SeededGenerator(state: seed)
    var count = 0
    for _ in 0..<500 {
      let valid = [HeaderBlockTests.get, HeaderBlockTests.connect, HeaderBlockTests.extended].randomElement(
        using: &generator)!
      let fields = fields(of: valid, &generator)
      let block = HeaderBlock(fields)
      let hasBody = Bool.random(using: &generator)
      let result = written { text throws(MessageError) in try block.writeRequest(hasBody: hasBody, to: &text) }
      guard case .text(let written) = result else { continue }
      let bytes = latin1(written)
      var (head, reader) = (RequestHead(), HeadReader(limits: HeadLimits()))
      guard let end = try? reader.readRequest(bytes.span, into: &head) else { continue }
      count += 1
      #expect(end == bytes.count)

      // Written again in the simplest way.
      func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
      let isConnect = value(":method") == "CONNECT"
      var expected: [(String, String)] = [("host", value(":authority") ?? value("host") ?? "")]
      if let name = value(":protocol") { expected += [("connection", "upgrade"), ("upgrade", name)] }
      if value(":protocol")?.lowercased() == "websocket", value("sec-websocket-key") == nil {
        expected.append(("sec-websocket-key", "YmVhcmVyZCBIVFRQLzIgIQ=="))
      }
      let cookies = fields.filter { $0.name == "cookie" }.map(\.value)
      for field in fields where !field.name.hasPrefix(":") && field.name != "host" {
        if field.name == "cookie" {
          if !expected.contains(where: { $0.0 == "cookie" }) {
            expected.append(("cookie", cookies.joined(separator: "; ").trimmingBlanks))
          }
        } else if field.name != "content-length" || !isConnect {
          expected.append((field.name, field.value))
        }
      }
      if hasBody, !isConnect, value("content-length") == nil { expected.append(("transfer-encoding", "chunked")) }
      #expect(head.fields.map { "\(head.latin1($0.name)): \(head.latin1($0.value))" } == text(expected))
      #expect(head.latin1(head.methodRange) == (value(":protocol") == nil ? value(":method") : "GET"))
      #expect(head.latin1(head.target) == value(":path") ?? value(":authority"))
      #expect((head.absoluteAuthority != nil) == (value(":scheme") == "https"))
    }
    #expect(count > 100)
  }
}

extension String {
  fileprivate var trimmingBlanks: String {
    String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}

extension RequestHead {
  fileprivate func latin1(_ range: Range<Int>) -> String {
    String(String.UnicodeScalarView(bytes[range].map { UnicodeScalar($0) }))
  }
}

extension ResponseHead {
  fileprivate func latin1(_ range: Range<Int>) -> String {
    String(String.UnicodeScalarView(bytes[range].map { UnicodeScalar($0) }))
  }
}
