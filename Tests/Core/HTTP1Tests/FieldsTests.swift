import HTTP1
import Testing

@Suite struct FieldsTests {
  private func known(_ name: String) throws -> KnownField {
    var head = ResponseHead()
    let value = name.lowercased() == "transfer-encoding" ? "chunked" : "1"
    let text = Array("HTTP/1.1 200 OK\r\nX: y\r\n\(name): \(value)\r\n\r\n".utf8)
    _ = try readResponse(text, cutAt: [text.count], into: &head)
    return head.fields[1].known
  }

  @Test(arguments: KnownField.allCases)
  func `known field names are recognized in any letter case, and similar names are not`(_ field: KnownField) throws {
    guard field != .other else { return }
    let name = field.name
    for spelling in [name, name.lowercased(), name.uppercased()] { #expect(try known(spelling) == field) }
    for other in [name + "x", "x" + name, String(name.dropLast()), "X-\(name)", name.replacing("-", with: "_") + "_"] {
      #expect(try known(other) != field)
    }
    // One wrong byte at any position, also in the suffix by which the table is searched.
    for index in name.utf8.indices {
      var bytes = Array(name.utf8)
      bytes[name.utf8.distance(from: name.utf8.startIndex, to: index)] = UInt8(ascii: "~")
      #expect(try known(String(decoding: bytes, as: UTF8.self)) == .other)
    }
  }

  @Test(arguments: ["tion", "ization", "X-ization", "proxy-authenticatioN-info2"])
  func `names that only end like known names are not recognized`(_ name: String) throws {
    #expect(try known(name) == .other)
  }

  @Test func `all known field names are different`() {
    #expect(Set(KnownField.allCases.map { $0.name.lowercased() }).count == KnownField.allCases.count)
    #expect(KnownField.other.name.isEmpty)
  }

  @Test(arguments: [
    ("X-Api-Key", "x-api-key", true, true), ("x_api_key", "x-api-key", false, true),
    ("X_API-KEY", "x-api-key", false, true), ("x-api-key", "x_api_key", false, true),
    ("X-Api-Keys", "x-api-key", false, false), ("X-Api-Ke", "x-api-key", false, false),
    ("X.Api.Key", "x-api-key", false, true),
    ("x~api!key", "x-api-key", false, true), ("x'api`key", "x-api-key", false, true),
    ("xaapi0key", "x-api-key", false, false), ("X-4pi-Key", "x-api-key", false, false), ("", "", true, true),
    ("x", "", false, false),
  ])
  func `T14: field names match in any letter case, and resemble each other with any punctuation`(
    _ text: String, _ name: String, _ matches: Bool, _ resembles: Bool
  ) {
    let bytes = Array("<<\(text)>>".utf8)
    let range = 2..<(bytes.count - 2)
    let nameBytes = Array(name.utf8)
    let span = bytes.span
    let isMatch = FieldName.matches(range, of: span, name)
    let isLike = FieldName.resembles(range, of: span, name)
    let isLikeToo = FieldName.resembles(range, of: span, nameBytes.indices, of: nameBytes.span)
    #expect(isMatch == matches)
    #expect(isLike == resembles)
    #expect(isLikeToo == resembles)
  }

  @Test(arguments: [
    ("Proxy-X", true), ("PROXY_X", true), ("proxy-", true), ("Prox", false), ("", false), ("a-proxy-x", false),
  ])
  func `prefixes of field names match with any punctuation`(_ text: String, _ result: Bool) {
    let bytes = Array(text.utf8)
    let found = FieldName.resembles(bytes.indices, of: bytes.span, prefix: "proxy-")
    #expect(found == result)
  }

  @Test(arguments: [
    ("", []), (",", []), (" , ,\t", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb c ,", ["a", "b c"]),
    ("\"a,b\",c", ["\"a,b\"", "c"]), ("a=\"b\\\",c\", d", ["a=\"b\\\",c\"", "d"]), ("\"a, b", ["\"a, b"]),
    ("\"a\\", ["\"a\\"]), ("a\\,b", ["a\\", "b"]), ("\"\\\\\",b", ["\"\\\\\"", "b"]),
  ])
  func `comma-separated lists are split into their elements`(_ text: String, _ elements: [String]) {
    let bytes = Array("x,\(text),y".utf8)
    let found = elementsOfList(bytes, 2..<(bytes.count - 2))
    #expect(found.map { String(decoding: bytes[$0], as: UTF8.self) } == elements)
  }
}
