internal import Policy
internal import Primitives

/// Takes parameters out of a query by their decoded name: those that a credential could be (T13, T45), and those that the
/// configuration names.
enum QueryFilter {
  /// `query` begins with `?`. What remains is written as it came.
  static func write(
    _ query: [UInt8], removing names: [String], keepsCredentials: Bool, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    var isFirst = true
    var start = 1
    var decoded: [UInt8] = []
    while true {
      var end = start
      while end < query.count, !isSeparator(query[end]) { end += 1 }
      decode(query, start..<end, &decoded)
      let isNamed = isNamed(decoded, in: names)
      let row = keepsCredentials || isNamed ? nil : CredentialFields.parameter(decodedName: decoded)
      if isNamed || row != nil {
        if let row { notes.removed.insert(row) }
        notes.changes?.removedParameters.append(String(decoding: decoded, as: UTF8.self))
      } else {
        output.append(isFirst ? UInt8(ascii: "?") : query[start - 1])
        output.append(contentsOf: query[start..<end])
        isFirst = false
      }
      if end >= query.count { return }
      start = end + 1
    }
  }

  private static func isNamed(_ name: [UInt8], in names: [String]) -> Bool {
    for known in names where CredentialFields.isParameter(decodedName: name, known) { return true }
    return false
  }

  private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "&") || byte == UInt8(ascii: ";") }

  /// Leaves in `name` what a server could take for the parameter's name: without escapes, and as PHP and its heirs make
  /// variables of names: `.`, blanks and `+` are `_`, leading blanks are nothing, `[` or NUL ends it.
  private static func decode(_ query: [UInt8], _ parameter: Range<Int>, _ name: inout [UInt8]) {
    name.removeAll(keepingCapacity: true)
    var end = parameter.lowerBound
    while end < parameter.upperBound, query[end] != UInt8(ascii: "=") { end += 1 }
    var index = parameter.lowerBound
    while index < end {
      var byte = query[index]
      index += 1
      if byte == UInt8(ascii: "%"), index + 1 < end, let high = hexDigit(query[index]),
        let low = hexDigit(query[index + 1])
      {
        byte = high << 4 | low
        index += 2
      } else if byte == UInt8(ascii: "+") {
        byte = 0x20
      }
      switch byte {
      case 0, UInt8(ascii: "["):
        if !name.isEmpty { index = end }
      case 0x20:
        if !name.isEmpty { name.append(UInt8(ascii: "_")) }
      case UInt8(ascii: "."): name.append(UInt8(ascii: "_"))
      default: name.append(byte)
      }
    }
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
