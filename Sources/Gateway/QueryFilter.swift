internal import Policy

/// Takes parameters that a credential could be out of a query: by their decoded name (T13, T45).
enum QueryFilter {
  /// `query` begins with `?`. What remains is written as it came.
  static func write(_ query: [UInt8], to output: inout [UInt8], notes: inout ForwardingNotes?) {
    var isFirst = true
    var start = 1
    while true {
      var end = start
      while end < query.count, !isSeparator(query[end]) { end += 1 }
      if let name = credentialParameter(query, start..<end) {
        notes?.removedParameters.append(name)
      } else {
        output.append(isFirst ? UInt8(ascii: "?") : query[start - 1])
        output.append(contentsOf: query[start..<end])
        isFirst = false
      }
      if end >= query.count { return }
      start = end + 1
    }
  }

  private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "&") || byte == UInt8(ascii: ";") }

  /// The decoded name, if it is one that a credential goes by.
  private static func credentialParameter(_ query: [UInt8], _ parameter: Range<Int>) -> String? {
    var end = parameter.lowerBound
    while end < parameter.upperBound, query[end] != UInt8(ascii: "=") { end += 1 }
    var name: [UInt8] = []
    var index = parameter.lowerBound
    while index < end {
      if query[index] == UInt8(ascii: "%"), index + 2 < end, let high = hexDigit(query[index + 1]),
        let low = hexDigit(query[index + 2])
      {
        name.append(high << 4 | low)
        index += 3
      } else {
        name.append(query[index])
        index += 1
      }
    }
    guard CredentialFields.isCredentialParameter(decodedName: name) else { return nil }
    return String(decoding: name, as: UTF8.self)
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
