import Log
import HTTP1
import Primitives

/// Checks that text from a client becomes one log line, with valid logfmt fields and without control characters.
func fuzzLog(_ bytes: [UInt8]) {
  let before = "level=info event=request"
  var started = ByteBuffer()
  started.append(before)
  var line = LogLine(after: started)
  let keys = LogLine.Keys()
  line.field(keys.path, bytes.span)
  line.field(keys.method, bytes.reversed().span)
  line.end()
  let text = Array(line.bytes.contents)
  promise(text.starts(with: bytesOf(before)), "what stood there is changed: \(shown(text))")
  promise(
    text.last == 0x0A && text.dropLast().allSatisfy { (0x20...0x7E).contains($0) }, "not one line: \(shown(text))")
  let values = fields(text[before.utf8.count..<(text.count - 1)])
  promise(values.map(\.name) == ["path", "method"].map(bytesOf), "other fields: \(shown(text))")
  promise(values.first?.value == Array(bytes.prefix(2_048)), "another value: \(shown(text))")
}

/// A simple logfmt parser: a space, a name, `=`, and a value with or without quotes.
private func fields(_ text: ArraySlice<UInt8>) -> [(name: [UInt8], value: [UInt8])] {
  var (found, rest): ([(name: [UInt8], value: [UInt8])], ArraySlice<UInt8>) = ([], text)
  while rest.popFirst() == 0x20 {
    let name = rest.prefix { $0 != UInt8(ascii: "=") }
    rest = rest.dropFirst(name.count + 1)
    var value: [UInt8] = []
    if rest.first == UInt8(ascii: "\"") {
      rest.removeFirst()
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        guard byte == UInt8(ascii: "\\") else {
          value.append(byte)
          continue
        }
        let escaped = rest.popFirst() ?? 0
        value.append(
          escaped == UInt8(ascii: "x")
            ? UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0 : escaped)
        if escaped == UInt8(ascii: "x") { rest = rest.dropFirst(2) }
      }
    } else {
      value = Array(rest.prefix { $0 != 0x20 })
      rest = rest.dropFirst(value.count)
    }
    found.append((Array(name), value))
  }
  promise(rest.isEmpty, "something between the fields: \(shown(text))")
  return found
}
