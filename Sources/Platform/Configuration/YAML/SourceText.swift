import Policy

/// A place in the configuration; line and column from 1, columns in Unicode scalars. Line 0: the file as a whole.
package struct TextLocation: Sendable, Equatable, Comparable {
  /// The index of the file in the order of reading; 0 is the main one.
  package var file = 0
  package var line = 0
  package var column = 0
  /// Columns to underline, on this line.
  package var length = 1

  package static let wholeFile = TextLocation()

  package static func < (one: TextLocation, other: TextLocation) -> Bool {
    (one.file, one.line, one.column) < (other.file, other.line, other.column)
  }
}

/// A stretch of the file that is never shown, `end` excluded.
struct Hidden: Sendable, Equatable {
  var startLine: Int
  var startColumn: Int
  var endLine: Int
  var endColumn: Int

  func covers(line: Int, column: Int) -> Bool {
    (startLine, startColumn) <= (line, column) && (line, column) < (endLine, endColumn)
  }
}

/// The file's lines, as they may be shown to a person: no control characters, no secrets, no more than fits a screen.
struct SourceText: Sendable {
  /// Wider lines are cut, so that a hundred errors in a line of a megabyte stay readable.
  static let shownColumns = 240

  private let text: [UInt8]
  private let lines: [Range<Int>]
  /// By line.
  private var hidden: [Int: [Hidden]] = [:]
  private var hidesValues = false

  init(_ text: [UInt8]) {
    self.text = text
    var lines: [Range<Int>] = []
    var start = 0
    for (index, byte) in text.enumerated() where byte == UInt8(ascii: "\n") {
      lines.append(start..<index)
      start = index + 1
    }
    lines.append(start..<text.count)
    self.lines = lines
  }

  /// From now on these stretches are shown as dots.
  mutating func hide(_ stretches: [Hidden]) {
    for stretch in stretches where stretch.startLine <= stretch.endLine {
      for line in stretch.startLine...min(stretch.endLine, max(lines.count, stretch.startLine)) {
        hidden[line, default: []].append(stretch)
      }
    }
  }

  /// For a file that could not be parsed: it is unknown what is a secret there, so only its shape and its keys are shown.
  mutating func hideValues() { hidesValues = true }

  /// The place, or the end of the file if it lies behind that: libyaml ends every last line, where the file need not.
  func within(_ place: TextLocation) -> TextLocation {
    guard place.line > lines.count else { return place }
    return TextLocation(file: place.file, line: lines.count, column: (scalars(ofLine: lines.count)?.count ?? 0) + 1)
  }

  /// nil if there is no such line, or if the place lies beyond what is shown.
  func shown(at place: TextLocation) -> String? {
    guard place.column <= Self.shownColumns, let scalars = scalars(ofLine: place.line) else { return nil }
    let words = hidesValues ? SchemaWords.columns(of: scalars) : []
    let hidden = hidden[place.line] ?? []
    var shown = String.UnicodeScalarView()
    for (index, scalar) in scalars.prefix(Self.shownColumns).enumerated() {
      // An old secret may stand in a comment.
      if scalar == "#", index >= place.column, scalars[index - 1].properties.isWhitespace {
        return String(shown) + "#…"
      }
      let isSecret =
        hidesValues
        ? SchemaWords.isWordCharacter(scalar) && !words.contains(index)
        : hidden.contains { $0.covers(line: place.line, column: index + 1) }
      shown.append(isSecret && scalar != " " ? "•" : scalar.isHarmless ? scalar : scalar == "\t" ? " " : "\u{FFFD}")
    }
    return String(shown) + (scalars.count > Self.shownColumns ? "…" : "")
  }

  private func scalars(ofLine line: Int) -> [Unicode.Scalar]? {
    guard line >= 1, line <= lines.count else { return nil }
    var range = lines[line - 1]
    if let last = range.last, text[last] == UInt8(ascii: "\r") { range = range.dropLast() }
    // Four bytes are the longest character: enough to know whether the line is longer than what is shown.
    let bytes = text[range].prefix(4 * (Self.shownColumns + 1))
    return Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
  }
}
