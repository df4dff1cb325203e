internal import HTTP1
import Primitives

/// Names under which a client could send a credential of its own, or choose another identity, method or path (T14, T45).
/// On requests that get our credential they are removed. Compared without regard to case and with `-` for whatever is neither
/// a letter nor a digit, because CGI and WSGI servers make one variable of `X-Api-Key`, `X_Api_Key` and `X.Api.Key`.
package enum CredentialFields {
  /// The row of a field's name, nil if the table has none.
  /// - Parameter range: the name's place in `bytes`.
  package static func row(name bytes: [UInt8], range: Range<Int>) -> CredentialField? {
    fields.row(of: bytes.span.extracting(range))
  }

  /// A field that may carry a credential.
  /// - Parameter range: the name's place in `bytes`.
  package static func isCredentialLike(name bytes: [UInt8], range: Range<Int>) -> Bool {
    row(name: bytes, range: range)?.isCredential ?? false
  }

  /// A field that chooses another identity or another method or path than the line that was judged, or that claims to
  /// say who asks (T10, T18, T45).
  package static func isImpersonation(name bytes: [UInt8], range: Range<Int>) -> Bool {
    row(name: bytes, range: range).map { !$0.isCredential } ?? false
  }

  /// The row of a query parameter that carries a credential, chooses another identity or overrides the method.
  /// - Parameter name: the name without its percent-escapes.
  package static func parameter(decodedName name: [UInt8]) -> CredentialField? {
    parameters.row(of: name.span)
  }

  /// Whether a server could take a query parameter for another, in lower case. PHP reads `.` and `_` alike.
  package static func isParameter(decodedName name: [UInt8], _ other: String) -> Bool {
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

/// One row of `CredentialFieldTable`.
package struct CredentialField: Equatable, Sendable {
  /// Its place in the table's `rows`.
  let index: UInt8

  init(index: UInt8) { self.index = index }

  /// The row of a field that is removed although it neither carries a credential nor chooses an identity.
  package init(_ field: UnwantedField) {
    let first = CredentialFieldTable.rows.count &- UnwantedField.allCases.count
    index = UInt8(truncatingIfNeeded: first &+ Int(field.rawValue))
  }

  fileprivate var isCredential: Bool { Int(index) < CredentialFieldTable.credentials.count }
}

/// Names of the table, found without allocation. An ordinary name is told apart by its length and one letter: the first, or
/// the one behind `x-`.
private struct NameList: Sendable {
  /// The names one after the other and folded, shorter ones first.
  private let names: [UInt8]
  /// The row of each name, in the same order.
  private let rows: [UInt8]
  /// For each length, where its names begin in `names`; the next entry is where they end.
  private let starts: [Int]
  /// For each length, which of `rows` is that of its first name.
  private let firsts: [Int]
  /// For each length, which letters its names have.
  private let letters: [UInt64]
  private let prefixes: [UInt8]
  private let prefixEnds: [Int]
  private let prefixRows: [UInt8]
  private let prefixLetters: UInt64
  private let isOfFields: Bool

  /// - Parameter firstRow: the place in the whole table of the first of `list`.
  init(_ list: [CredentialFieldTable.Row], firstRow: Int, isOfFields: Bool) {
    func folded(_ byte: UInt8) -> UInt8 { isOfFields ? Self.fieldByte(byte) : Self.parameterByte(byte) }
    let all = list.enumerated().map { place, row in
      (
        row: UInt8(truncatingIfNeeded: firstRow + place), isPrefix: row.name.hasSuffix("*"),
        name: row.name.utf8.filter { $0 != UInt8(ascii: "*") }.map(folded)
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
      var (start, place) = (starts[length], firsts[length])
      while start < starts[length + 1] {
        if begins(name, with: names, start, start + length) { return CredentialField(index: rows[place]) }
        start += length
        place += 1
      }
    }
    guard prefixLetters & letter != 0 else { return nil }
    var start = 0
    for place in prefixEnds.indices {
      if begins(name, with: prefixes, start, prefixEnds[place]) { return CredentialField(index: prefixRows[place]) }
      start = prefixEnds[place]
    }
    return nil
  }

  private func begins(_ name: Span<UInt8>, with known: [UInt8], _ start: Int, _ end: Int) -> Bool {
    guard name.count >= end - start else { return false }
    for index in start..<end where Self.folded(name[index - start], isOfFields) != known[index] { return false }
    return true
  }

  /// One bit for the letter that tells most names apart.
  private static func letter(of name: Span<UInt8>, _ isOfFields: Bool) -> UInt64 {
    guard name.count > 2, name[0] | 0x20 == UInt8(ascii: "x") else {
      return 1 << UInt64(folded(name[0], isOfFields) & 31)
    }
    return 1 << UInt64(folded(name[2], isOfFields) & 31 | 32)
  }

  private static func folded(_ byte: UInt8, _ isOfFields: Bool) -> UInt8 {
    isOfFields ? fieldByte(byte) : parameterByte(byte)
  }

  private static func fieldByte(_ byte: UInt8) -> UInt8 {
    ASCII.isLetter(byte) ? byte | 0x20 : ASCII.isDigit(byte) ? byte : UInt8(ascii: "-")
  }

  /// The other punctuation stays: `$key` is not `_key`.
  static func parameterByte(_ byte: UInt8) -> UInt8 {
    byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".") ? UInt8(ascii: "-") : ASCII.lowercased(byte)
  }
}
