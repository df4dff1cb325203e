import HTTP1
import Testing

@Suite struct FieldNameScanTests {
  /// RFC 9110 §5.6.2, independent of the reader's table.
  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  @Test func `T14: only token characters are accepted, at every position of a field name`() {
    for position in 0..<17 {
      for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: ":") {
        var name = Array("abcdefghijklmnopq".utf8)
        name[position] = byte
        let text = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8) + name + Array(": v\r\n\r\n".utf8)
        var reader = HeadReader(limits: HeadLimits())
        var head = RequestHead()
        let taken = try? reader.readRequest(text.span, into: &head)
        #expect((taken == text.count) == Self.isToken(byte), "\(byte) at \(position)")
        if taken == text.count { #expect(Array(head.bytes[head.fields[1].name]) == name) }
      }
    }
  }

  @Test func `known names are recognized in any letter case, but not with one byte changed`() throws {
    for known in KnownField.allCases where known != .other && known != .host {
      let name = Array(known.name.utf8)
      for spelled in [known.name, known.name.lowercased(), known.name.uppercased()] {
        #expect(try field(Array(spelled.utf8)) == known, "\(spelled)")
      }
      for position in name.indices {
        var other = name
        other[position] ^= 0x01
        if Self.isToken(other[position]) { #expect(try field(other) != known, "\(known.name), \(position)") }
      }
    }
  }

  /// Parses the name in a response, where fewer fields are framing.
  private func field(_ name: [UInt8]) throws -> KnownField? {
    let value = String(decoding: name, as: UTF8.self).lowercased() == "transfer-encoding" ? "chunked" : "1"
    let text = Array("HTTP/1.1 200 OK\r\n".utf8) + name + Array(": \(value)\r\n\r\n".utf8)
    var reader = HeadReader(limits: HeadLimits())
    var head = ResponseHead()
    #expect(try reader.readResponse(text.span, into: &head) == text.count)
    return head.fields.first?.known
  }
}
