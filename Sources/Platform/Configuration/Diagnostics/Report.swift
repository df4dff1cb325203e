/// Collects the messages about a configuration.
final class Report {
  static let maxErrors = 100

  /// The main file, then the included files.
  private var files: [(path: String, source: SourceText)]
  /// The parsed files whose secrets are not yet masked, by their index in `files`.
  private var trees: [Int: YAMLNode] = [:]
  private(set) var errorCount = 0
  private var found: [Finding] = []

  private typealias Finding = (severity: Diagnostic.Severity, location: TextLocation, message: String, help: String?)

  init(file: String, text: [UInt8]) {
    files = [(file, SourceText(text))]
  }

  /// Adds an included file, and returns its index.
  func addFile(_ path: String, _ text: [UInt8]) -> Int {
    files.append((path, SourceText(text)))
    return files.count - 1
  }

  var paths: [String] { files.map(\.path) }

  func path(ofFile file: Int) -> String { files[file].path }

  /// Masks the secrets of a parsed file in source lines.
  func maskSecrets(of root: YAMLNode, inFile file: Int) { trees[file] = root }

  /// Masks all values in the source lines of a file that could not be parsed.
  func maskValues(ofFile file: Int) { files[file].source.maskValues() }

  /// Returns text like `line 3`, with the path if `here` is in another file.
  func line(_ location: TextLocation, seenFrom here: TextLocation) -> String {
    location.file == here.file ? "line \(location.line)" : "line \(location.line) of \(files[location.file].path)"
  }

  var isFull: Bool { errorCount >= Self.maxErrors }

  func error(_ location: TextLocation, _ message: String, help: String? = nil) {
    errorCount += 1
    if errorCount <= Self.maxErrors { add(.error, location, message, help) }
  }

  /// Reports an error, and returns `nil` for the value that cannot be read.
  func error<Value>(_ location: TextLocation, _ message: String, help: String? = nil) -> Value? {
    error(location, message, help: help)
    return nil
  }

  func warning(_ location: TextLocation, _ message: String, help: String? = nil) {
    add(.warning, location, message, help)
  }

  func advice(_ location: TextLocation, _ message: String, help: String? = nil) {
    add(.advice, location, message, help)
  }

  /// Returns the messages in the order of the files.
  func diagnostics(withAdvice: Bool = true) -> [Diagnostic] {
    var all = found.filter { withAdvice || $0.severity != .advice }.enumerated()
      .sorted { ($0.element.location, $0.offset) < ($1.element.location, $1.offset) }
      .map { diagnostic($0.element) }
    if errorCount > Self.maxErrors {
      let rest = errorCount - Self.maxErrors
      let message = rest == 1 ? "1 more error is not shown" : "\(rest) more errors are not shown"
      all.append(Diagnostic(severity: .error, file: files[0].path, message: message))
    }
    return all
  }

  private func add(_ severity: Diagnostic.Severity, _ location: TextLocation, _ message: String, _ help: String?) {
    found.append((severity, location, message, help))
  }

  private func diagnostic(_ finding: Finding) -> Diagnostic {
    if let tree = trees.removeValue(forKey: finding.location.file) {
      files[finding.location.file].source.mask(SecretMask.maskedRanges(in: tree))
    }
    let (path, source) = files[finding.location.file]
    let location = source.clamped(finding.location)
    return Diagnostic(
      severity: finding.severity, file: path, line: location.line, column: location.column, length: location.length,
      message: finding.message, help: finding.help,
      sourceLine: location.line > 0 ? source.shown(at: location) : nil)
  }
}

func listed(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}
