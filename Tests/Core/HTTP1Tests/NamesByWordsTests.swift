import HTTP1
import Testing

@Suite("Field names, of which eight bytes are looked at in one step")
struct NamesByWordsTests {
  /// RFC 9110 §5.6.2, written anew.
  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  @Test
  func `T14: every byte is let through or refused at every place of a word, and ends no name but the colon`() {
    for place in 0..<17 {
      for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: ":") {
        var name = Array("abcdefghijklmnopq".utf8)
        name[place] = byte
        let text = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8) + name + Array(": v\r\n\r\n".utf8)
        var reader = HeadReader(limits: HeadLimits())
        var head = RequestHead()
        let taken = try? reader.readRequest(text.span, into: &head)
        #expect((taken == text.count) == Self.isToken(byte), "\(byte) at \(place)")
        if taken == text.count { #expect(Array(head.bytes[head.fields[1].name]) == name) }
      }
    }
  }

  @Test
  func `known names are known in any case, and none that differs in one byte`() throws {
    for known in KnownField.allCases where known != .other && known != .host {
      let name = Array(known.name.utf8)
      for spelled in [known.name, known.name.lowercased(), known.name.uppercased()] {
        #expect(try field(Array(spelled.utf8)) == known, "\(spelled)")
      }
      for place in name.indices {
        var other = name
        other[place] ^= 0x01
        if Self.isToken(other[place]) { #expect(try field(other) != known, "\(known.name), \(place)") }
      }
    }
  }

  /// In an answer, whose fields frame less.
  private func field(_ name: [UInt8]) throws -> KnownField? {
    let value = String(decoding: name, as: UTF8.self).lowercased() == "transfer-encoding" ? "chunked" : "1"
    let text = Array("HTTP/1.1 200 OK\r\n".utf8) + name + Array(": \(value)\r\n\r\n".utf8)
    var reader = HeadReader(limits: HeadLimits())
    var head = ResponseHead()
    #expect(try reader.readResponse(text.span, into: &head) == text.count)
    return head.fields.first?.known
  }
}
