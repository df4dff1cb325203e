import Primitives

/// Finds fields and query parameters with which a client could send its own credential, or choose another identity,
/// method or path (T14, T45). Names are compared without case, and punctuation in field names counts as `-`.
package enum CredentialFields {
  // CGI and WSGI servers make one variable of `X-Api-Key`, `X_Api_Key` and `X.Api.Key`.

  /// Returns the table row of a field name; `nil` if the table does not have the name.
  package static func row(name bytes: [UInt8], range: Range<Int>) -> CredentialField? {
    fields.row(of: bytes.span.extracting(range))
  }

  package static func isCredentialLike(name bytes: [UInt8], range: Range<Int>) -> Bool {
    row(name: bytes, range: range)?.isCredential ?? false
  }

  /// Returns the table row of a query parameter; `nil` if the table does not have the name.
  package static func parameter(decodedName name: [UInt8]) -> CredentialField? {
    parameters.row(of: name.span)
  }

  /// Whether a server could read the parameter's name as `other`, which must be in lower case.
  package static func isParameter(decodedName name: [UInt8], _ other: String) -> Bool {
    // PHP, for example, does not distinguish `.` and `_`.
    let other = other.utf8.span
    guard name.count == other.count else { return false }
    for index in name.indices where NameList.parameterByte(name[index]) != NameList.parameterByte(other[index]) {
      return false
    }
    return true
  }

  private static let fields = NameList(
    CredentialFieldTable.credentials + CredentialFieldTable.identities, firstRow: 0, isOfFields: true)
  private static let parameters = NameList(
    CredentialFieldTable.parameters,
    firstRow: CredentialFieldTable.credentials.count + CredentialFieldTable.identities.count, isOfFields: false)
}

/// A row of `CredentialFieldTable`.
package struct CredentialField: Equatable, Sendable {
  let index: UInt8

  init(index: UInt8) { self.index = index }

  package init(_ field: UnwantedField) {
    let first = CredentialFieldTable.rows.count &- UnwantedField.allCases.count
    index = UInt8(truncatingIfNeeded: first &+ Int(field.rawValue))
  }

  fileprivate var isCredential: Bool { Int(index) < CredentialFieldTable.credentials.count }
}

/// Looks up names of the table without allocation.
private struct NameList: Sendable {
  /// All names except prefixes, concatenated, shorter names first.
  private let names: [UInt8]
  private let rows: [UInt8]
  /// For each length, the offset in `names` at which the names with this length begin.
  private let starts: [Int]
  /// For each length, the index in `rows` of the first name with this length.
  private let firsts: [Int]
  /// For each length, the bits that `letter` returns for the names with this length.
  private let letters: [UInt64]
  private let prefixes: [UInt8]
  private let prefixEnds: [Int]
  private let prefixRows: [UInt8]
  private let prefixLetters: UInt64
  private let isOfFields: Bool

  /// - Parameters:
  ///   - firstRow: Index in `CredentialFieldTable.rows` of the first row in `list`.
  ///   - isOfFields: `true` for names of header fields, `false` for names of query parameters.
  init(_ list: [CredentialFieldTable.Row], firstRow: Int, isOfFields: Bool) {
    let all = list.enumerated().map { index, row in
      (
        row: UInt8(truncatingIfNeeded: firstRow + index), isPrefix: row.name.hasSuffix("*"),
        name: row.name.utf8.filter { $0 != UInt8(ascii: "*") }.map { Self.folded($0, isOfFields) }
      )
    }
    var (names, rows, starts, firsts): ([UInt8], [UInt8], [Int], [Int]) = ([], [], [], [])
    var letters: [UInt64] = []
    for length in 0...(all.map(\.name.count).max() ?? 0) {
      starts.append(names.count)
      firsts.append(rows.count)
      let same = all.filter { !$0.isPrefix && $0.name.count == length && length > 0 }
      names += same.flatMap(\.name)
      rows += same.map(\.row)
      letters.append(same.reduce(0) { $0 | Self.letter(of: $1.name.span, isOfFields) })
    }
    self.names = names
    self.rows = rows
    self.starts = starts + [names.count]
    self.firsts = firsts
    self.letters = letters
    var (prefixes, ends, prefixLetters): ([UInt8], [Int], UInt64) = ([], [], 0)
    for prefix in all where prefix.isPrefix {
      prefixLetters |= Self.letter(of: prefix.name.span, isOfFields)
      prefixes += prefix.name
      ends.append(prefixes.count)
    }
    self.prefixes = prefixes
    prefixEnds = ends
    prefixRows = all.filter(\.isPrefix).map(\.row)
    self.prefixLetters = prefixLetters
    self.isOfFields = isOfFields
  }

  func row(of name: Span<UInt8>) -> CredentialField? {
    let length = name.count
    guard length > 0 else { return nil }
    let letter = Self.letter(of: name, isOfFields)
    if length < letters.count, letters[length] & letter != 0 {
      var (start, index) = (starts[length], firsts[length])
      while start < starts[length + 1] {
        if begins(name, with: names, start, start + length) { return CredentialField(index: rows[index]) }
        start += length
        index += 1
      }
    }
    guard prefixLetters & letter != 0 else { return nil }
    var start = 0
    for index in prefixEnds.indices {
      if begins(name, with: prefixes, start, prefixEnds[index]) { return CredentialField(index: prefixRows[index]) }
      start = prefixEnds[index]
    }
    return nil
  }

  private func begins(_ name: Span<UInt8>, with known: [UInt8], _ start: Int, _ end: Int) -> Bool {
    guard name.count >= end - start else { return false }
    for index in start..<end where Self.folded(name[index - start], isOfFields) != known[index] { return false }
    return true
  }

  /// Returns the bit of the name's first letter, or of the letter after `x-`.
  private static func letter(of name: Span<UInt8>, _ isOfFields: Bool) -> UInt64 {
    guard name.count > 2, name[0] | 0x20 == UInt8(ascii: "x") else {
      return 1 << UInt64(folded(name[0], isOfFields) & 31)
    }
    return 1 << UInt64(folded(name[2], isOfFields) & 31 | 32)
  }

  private static func folded(_ byte: UInt8, _ isOfFields: Bool) -> UInt8 {
    isOfFields ? fieldByte(byte) : parameterByte(byte)
  }

  /// Converts a byte of a field name to lower case, or to `-` if it is neither a letter nor a digit.
  private static func fieldByte(_ byte: UInt8) -> UInt8 {
    ASCII.isLetter(byte) ? byte | 0x20 : ASCII.isDigit(byte) ? byte : UInt8(ascii: "-")
  }

  /// Converts a byte of a parameter name to lower case, and `_` and `.` to `-`.
  static func parameterByte(_ byte: UInt8) -> UInt8 {
    // Other punctuation does not change, because `$key` is not `_key`.
    byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".") ? UInt8(ascii: "-") : ASCII.lowercased(byte)
  }
}
