internal import Policy
internal import Primitives

/// Removes possible credentials (T13, T45) and configured parameters from a query.
enum QueryFilter {
  /// Appends the query, which begins with `?`, without the removed parameters.
  /// - Parameter firstIndex: the index of `names[0]` in `HeaderPolicy.removedNames`.
  static func write(
    _ query: [UInt8], removing names: [String], firstIndex: Int, keepsCredentials: Bool, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    var isFirst = true
    var start = 1
    var decoded: [UInt8] = []
    while true {
      var end = start
      while end < query.count, !isSeparator(query[end]) { end += 1 }
      var match: Match?
      for reading in [Reading.root, .unclosedBracket] {
        let hasBracket = decode(query, start..<end, &decoded, reading)
        match = Match(decoded, names, keepsCredentials: keepsCredentials)
        if match != nil || !hasBracket { break }
      }
      if let match {
        switch match {
        case .credential(let row): notes.removed.insert(row)
        case .configured(let index): notes.removed.insert(configured: firstIndex + index)
        }
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

  private enum Match {
    case credential(CredentialField)
    /// The parameter has the configured name with this index.
    case configured(Int)

    init?(_ name: [UInt8], _ names: [String], keepsCredentials: Bool) {
      if let index = names.firstIndex(where: { CredentialFields.isParameter(decodedName: name, $0) }) {
        self = .configured(index)
      } else if !keepsCredentials, let row = CredentialFields.parameter(decodedName: name) {
        self = .credential(row)
      } else {
        return nil
      }
    }
  }

  private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "&") || byte == UInt8(ascii: ";") }

  /// The two ways in which servers read a name with brackets.
  private enum Reading {
    /// Leading brackets are ignored, and the next bracket ends the name: `a[b]` is read as `a` (Rack, qs, PHP).
    case root
    /// The first `[` is read as `_`: `a[b` is read as `a_b` (PHP, if no `]` follows).
    case unclosedBracket
  }

  /// Sets `name` to the parameter's name as a server could read it, without escapes.
  /// - Returns: `true` if the name has a bracket, so that servers may read it differently.
  private static func decode(
    _ query: [UInt8], _ parameter: Range<Int>, _ name: inout [UInt8], _ reading: Reading
  ) -> Bool {
    name.removeAll(keepingCapacity: true)
    var end = parameter.lowerBound
    while end < parameter.upperBound, query[end] != UInt8(ascii: "=") { end += 1 }
    var index = parameter.lowerBound
    var (hasBracket, hasJoined) = (false, false)
    while index < end {
      let byte = unescaped(query, &index, end)
      switch byte {
      case 0:
        if !name.isEmpty { index = end }
      case UInt8(ascii: "["), UInt8(ascii: "]"):
        if case .root = reading, !name.isEmpty { return true }
        if !name.isEmpty { name.append(hasJoined ? byte : UInt8(ascii: "_")) }
        hasJoined = !name.isEmpty
        hasBracket = true
      case 0x20:
        if !name.isEmpty { name.append(UInt8(ascii: "_")) }
      case UInt8(ascii: "."): name.append(UInt8(ascii: "_"))
      default: name.append(byte)
      }
    }
    return hasBracket
  }

  private static func unescaped(_ query: [UInt8], _ index: inout Int, _ end: Int) -> UInt8 {
    let byte = query[index]
    index += 1
    if byte == UInt8(ascii: "+") { return 0x20 }
    guard byte == UInt8(ascii: "%"), index < end else { return byte }
    let isLong = query[index] | 0x20 == UInt8(ascii: "u")
    let digits = isLong ? index + 3 : index
    guard digits + 1 < end, let high = ASCII.hexValue(query[digits]), let low = ASCII.hexValue(query[digits + 1]) else {
      return byte
    }
    if isLong, query[index + 1] != UInt8(ascii: "0") || query[index + 2] != UInt8(ascii: "0") { return byte }
    index = digits + 2
    return high << 4 | low
  }
}
