import Policy

/// A location in the configuration. Lines and columns count from 1. Line 0 is the whole file.
package struct TextLocation: Sendable, Equatable, Comparable {
  /// The index of the file. 0 is the main file.
  package var file = 0
  package var line = 0
  package var column = 0
  /// The number of columns to underline.
  package var length = 1

  package static let wholeFile = TextLocation()

  package static func < (one: TextLocation, other: TextLocation) -> Bool {
    (one.file, one.line, one.column) < (other.file, other.line, other.column)
  }
}

/// A range of a file, without its end, that messages must not show.
struct MaskedRange: Sendable, Equatable {
  var startLine: Int
  var startColumn: Int
  var endLine: Int
  var endColumn: Int

  func covers(line: Int, column: Int) -> Bool {
    (startLine, startColumn) <= (line, column) && (line, column) < (endLine, endColumn)
  }
}

/// The lines of a file in a form that is safe to show.
struct SourceText: Sendable {
  /// Maximum width of a shown line, in columns.
  static let shownColumns = 240

  private let text: [UInt8]
  private let lines: [Range<Int>]
  /// The ranges to mask, by line.
  private var hidden: [Int: [MaskedRange]] = [:]
  private var hidesValues = false

  init(_ text: [UInt8]) {
    let text = withoutByteOrderMark(text)
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

  /// Masks these ranges in all lines shown later.
  mutating func mask(_ stretches: [MaskedRange]) {
    for stretch in stretches where stretch.startLine <= stretch.endLine {
      for line in stretch.startLine...min(stretch.endLine, max(lines.count, stretch.startLine)) {
        hidden[line, default: []].append(stretch)
      }
    }
  }

  /// Masks everything except YAML punctuation and known keys.
  mutating func maskValues() { hidesValues = true }

  /// Returns `location`, or the end of the file if `location` is after the last line.
  func clamped(_ location: TextLocation) -> TextLocation {
    guard location.line > lines.count else { return location }
    return TextLocation(file: location.file, line: lines.count, column: (scalars(ofLine: lines.count)?.count ?? 0) + 1)
  }

  /// Returns the masked line, or `nil` if it cannot be shown.
  func shown(at location: TextLocation) -> String? {
    guard location.column <= Self.shownColumns, let scalars = scalars(ofLine: location.line) else { return nil }
    let words = hidesValues ? SchemaWords.columns(of: scalars) : []
    let hidden = hidden[location.line] ?? []
    var shown = String.UnicodeScalarView()
    for (index, scalar) in scalars.prefix(Self.shownColumns).enumerated() {
      // A comment may contain an old secret.
      if scalar == "#", index >= location.column, scalars[index - 1].properties.isWhitespace {
        return String(shown) + "#…"
      }
      let isSecret =
        hidesValues
        ? SchemaWords.isWordCharacter(scalar) && !words.contains(index)
        : hidden.contains { $0.covers(line: location.line, column: index + 1) }
      shown.append(isSecret && scalar != " " ? "•" : scalar.isHarmless ? scalar : scalar == "\t" ? " " : "\u{FFFD}")
    }
    return String(shown) + (scalars.count > Self.shownColumns ? "…" : "")
  }

  private func scalars(ofLine line: Int) -> [Unicode.Scalar]? {
    guard line >= 1, line <= lines.count else { return nil }
    var range = lines[line - 1]
    if let last = range.last, text[last] == UInt8(ascii: "\r") { range = range.dropLast() }
    // A character has at most four bytes, so this is enough to see whether the line is too wide.
    let bytes = text[range].prefix(4 * (Self.shownColumns + 1))
    return Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
  }
}

/// Returns the text without a byte order mark, which some editors add.
func withoutByteOrderMark(_ text: [UInt8]) -> [UInt8] {
  let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
  return text.starts(with: mark) ? Array(text.dropFirst(mark.count)) : text
}
