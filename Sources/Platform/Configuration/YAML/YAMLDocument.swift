/// A node of the file, with its location.
struct YAMLNode: Sendable {
  enum Content: Sendable {
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([YAMLEntry])
    /// A node with an error that is already reported.
    case refused
  }
  let content: Content
  let location: TextLocation
  let range: MaskedRange

  /// The text. `nil` if the node is not a scalar.
  var text: String? {
    if case .scalar(let text, _) = content { text } else { nil }
  }

  var isEmptyMapping: Bool {
    if case .mapping(let entries) = content { entries.isEmpty } else { false }
  }

  /// Whether the value is missing, as in `key:`.
  var isAbsent: Bool {
    if case .scalar("", isPlain: true) = content { true } else { false }
  }
}

struct YAMLEntry: Sendable {
  let key: YAMLNode
  let name: String
  let value: YAMLNode
  /// Whether an error in the entry is already reported.
  var isRefused = false
}

/// Parses a file into a tree of nodes.
enum YAMLDocument {
  /// Maximum size of a file, in bytes.
  static let maxBytes = 1 << 20
  static let maxDepth = 32

  /// Parses a file and returns its root node, or `nil` after an error or for an empty included file.
  /// - Parameter file: The index of the file. 0 is the main file.
  static func read(_ text: [UInt8], report: Report, file: Int = 0) -> YAMLNode? {
    let text = withoutByteOrderMark(text)
    guard text.count <= maxBytes else {
      report.error(
        TextLocation(file: file), "the file has \(text.count) bytes, and at most \(maxBytes) (1 MiB) are allowed")
      return nil
    }
    guard checkEncoding(text, report: report, file: file) else { return nil }
    let parsed = withYAMLParser(text, file: file) { (parser) -> YAMLNode? in
      do throws(YAMLFailure) {
        return try YAMLTree(report: report).read(&parser)
      } catch {
        report.error(error.location, error.message, help: error.help)
        return nil
      }
    }
    if file > 0 { return parsed }
    guard let parsed, !parsed.isAbsent else {
      if report.errorCount == 0 {
        report.error(.wholeFile, "the file has no configuration", help: minimalConfiguration)
      }
      return nil
    }
    return parsed
  }

  static let minimalConfiguration = """
    a first configuration has four lines:
    credentials:
      github: { origins: [https://api.github.com], bearer: { file: github.token } }
    services:
      github: { upstream: https://api.github.com/, credential: github }
    """

  /// Checks that the text is valid UTF-8 without invisible characters.
  private static func checkEncoding(_ text: [UInt8], report: Report, file: Int) -> Bool {
    var location = TextLocation(file: file, line: 1, column: 1, length: 1)
    if text.starts(with: [0xFE, 0xFF]) || text.starts(with: [0xFF, 0xFE]) {
      report.error(location, "the file is UTF-16, but must be UTF-8")
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
        report.error(location, "the file is not valid UTF-8")
        return false
      case .scalarValue(let scalar):
        if wasReturn, scalar != "\n" {
          report.error(location, "the file has a carriage return without a line feed")
          return false
        }
        wasReturn = scalar == "\r"
        if scalar == "\n" {
          location = TextLocation(file: file, line: location.line + 1, column: 1, length: 1)
        } else if isAllowed(scalar) || wasReturn {
          location.column += 1
        } else {
          report.error(
            location, "the file has an invisible character (\(codePoint(scalar))), which is not allowed",
            help: "delete it"
          )
          return false
        }
      }
    }
  }

  /// Whether a file may contain this character.
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

/// Returns text like `U+202E`.
func codePoint(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16, uppercase: true)
  return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}
