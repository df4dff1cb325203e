/// One value of the file, with its place. Scalars are text until the schema says otherwise.
struct YAMLNode: Sendable {
  enum Content: Sendable {
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([YAMLEntry])
    /// Already reported; readers pass over it in silence.
    case refused
  }
  let content: Content
  let place: TextLocation
  /// For hiding: the exact stretch in the file.
  let stretch: Hidden

  /// nil for what is not a scalar.
  var text: String? {
    if case .scalar(let text, _) = content { text } else { nil }
  }

  /// `{}`
  var isEmptyMapping: Bool {
    if case .mapping(let entries) = content { entries.isEmpty } else { false }
  }

  /// `key:` with nothing behind it.
  var isAbsent: Bool {
    if case .scalar("", isPlain: true) = content { true } else { false }
  }
}

struct YAMLEntry: Sendable {
  let key: YAMLNode
  /// The key's text.
  let name: String
  let value: YAMLNode
  /// Already reported (a duplicate, a merge key); kept so that its secrets are hidden.
  var isRefused = false
}

/// Text to a tree with marks. Refuses whatever makes YAML mean something other than what it seems to say.
enum YAMLDocument {
  /// A configuration that is written by hand is never longer.
  static let mostBytes = 1 << 20
  /// The schema needs seven levels.
  static let mostLevels = 32

  /// nil when there is no tree; why is in the report.
  /// - Parameter file: the index of the file in the report. Only the main one, 0, has to say something.
  static func read(_ text: [UInt8], report: Report, file: Int = 0) -> YAMLNode? {
    guard text.count <= mostBytes else {
      report.error(
        TextLocation(file: file), "the file has \(text.count) bytes, and at most \(mostBytes) (1 MiB) are allowed")
      return nil
    }
    guard checkEncoding(text, report: report, file: file) else { return nil }
    let parsed = withYAMLParser(text, file: file) { (parser) -> YAMLNode? in
      do throws(YAMLFailure) {
        return try YAMLTree(report: report).read(&parser)
      } catch {
        report.error(error.place, error.message, help: error.help)
        return nil
      }
    }
    if file > 0 { return parsed }
    guard let parsed, !parsed.isAbsent else {
      if report.errorCount == 0 { report.error(.wholeFile, "the file has no configuration", help: smallest) }
      return nil
    }
    return parsed
  }

  /// The least that a first file needs.
  static let smallest = """
    a first configuration has four lines:
    credentials:
      github: { origins: [https://api.github.com], bearer: { file: github.token } }
    services:
      github: { upstream: https://api.github.com/, credential: github }
    """

  /// UTF-8, and nothing in it that a person does not see: what is read must be what is shown.
  private static func checkEncoding(_ text: [UInt8], report: Report, file: Int) -> Bool {
    var place = TextLocation(file: file, line: 1, column: 1, length: 1)
    if text.starts(with: [0xFE, 0xFF]) || text.starts(with: [0xFF, 0xFE]) {
      report.error(place, "the file is UTF-16, but must be UTF-8")
      return false
    }
    var decoder = UTF8()
    var bytes = text.makeIterator()
    var wasReturn = false
    while true {
      switch decoder.decode(&bytes) {
      case .emptyInput:
        return true
      case .error:
        report.error(place, "the file is not valid UTF-8")
        return false
      case .scalarValue(let scalar):
        if wasReturn, scalar != "\n" {
          report.error(place, "the file has a carriage return without a line feed")
          return false
        }
        wasReturn = scalar == "\r"
        if scalar == "\n" {
          place = TextLocation(file: file, line: place.line + 1, column: 1, length: 1)
        } else if isAllowed(scalar) || wasReturn {
          place.column += 1
        } else {
          report.error(
            place, "the file has an invisible character (\(codePoint(scalar))), which is not allowed", help: "delete it"
          )
          return false
        }
      }
    }
  }

  /// Format characters can turn the reading direction around, so that a line shows another policy than it states.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\t" || (0x20...0x7E).contains(scalar.value) { return true }
    // Joiners are part of emoji and of several scripts.
    if scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return false
    default: return true
    }
  }
}

/// `U+202E`
func codePoint(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16, uppercase: true)
  return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}
