/// The form parameters in a request body, which OAuth 1.0 signs (RFC 5849 section 3.4.1.3.1).
struct SignedForm {
  /// The form; empty if there is no body or it is not a form.
  let bytes: UnsafeRawBufferPointer

  private static let type = Array("application/x-www-form-urlencoded".utf8)

  /// Finds the form in a request; `nil` if `body` contains only a part of the form.
  /// - Parameters:
  ///   - head: a head that bearerd wrote, without the closing CRLF.
  ///   - body: the body, in at most one chunk.
  init?(_ head: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer) {
    let nothing = UnsafeRawBufferPointer(rebasing: body[..<0])
    guard let type = Self.value(of: "content-type", in: head), type.count >= Self.type.count,
      zip(type, Self.type).allSatisfy({ $0 | 0x20 == $1 | 0x20 }),
      type.dropFirst(Self.type.count).first.map({ $0 == 0x3B || $0 == 0x20 || $0 == 0x09 }) ?? true
    else {
      bytes = nothing
      return
    }
    if let length = Self.value(of: "content-length", in: head) {
      guard Int(String(decoding: length, as: UTF8.self)) == body.count else { return nil }
      bytes = body
    } else if Self.value(of: "transfer-encoding", in: head) != nil {
      guard let chunk = Self.onlyChunk(of: body) else { return nil }
      bytes = chunk
    } else {
      bytes = nothing
    }
  }

  private static func value(of name: StaticString, in head: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    name.withUTF8Buffer { name in
      for line in head.split(separator: 0x0A) {
        guard line.count > name.count, line[line.startIndex + name.count] == UInt8(ascii: ":"),
          zip(line, name).allSatisfy({ $0 | 0x20 == $1 })
        else { continue }
        let value = line.dropFirst(name.count + 1).drop { $0 == 0x20 || $0 == 0x09 }
        return UnsafeRawBufferPointer(rebasing: value.last == 0x0D ? value.dropLast() : value)
      }
      return nil
    }
  }

  /// Returns the data of a chunked body that has at most one chunk; `nil` for other bodies.
  private static func onlyChunk(of body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let end = Array("0\r\n\r\n".utf8)
    if body.elementsEqual(end) { return UnsafeRawBufferPointer(rebasing: body[..<0]) }
    guard let lineEnd = body.firstIndex(of: 0x0D),
      let size = Int(String(decoding: body[..<lineEnd], as: UTF8.self), radix: 16), size > 0,
      size <= body.count, lineEnd + 2 + size + 2 + end.count == body.count,
      body[(body.count - end.count)...].elementsEqual(end)
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: body[(lineEnd + 2)..<(lineEnd + 2 + size)])
  }
}
