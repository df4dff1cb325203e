/// Collects what there is to say about a configuration, so that a person sees all of it in one go.
final class Report {
  /// A file with more errors than this is of another kind, not misspelt.
  static let mostErrors = 100

  /// The main file, and then those that it includes.
  private var files: [(path: String, source: SourceText)]
  /// By file, until a line of it is drawn.
  private var trees: [Int: YAMLNode] = [:]
  private(set) var errorCount = 0
  private var found: [Finding] = []

  private struct Finding {
    let severity: Diagnostic.Severity
    let place: TextLocation
    let message: String
    let help: String?
  }

  init(file: String, text: [UInt8]) {
    files = [(file, SourceText(text))]
  }

  /// Returns the index of a further file.
  func addFile(_ path: String, _ text: [UInt8]) -> Int {
    files.append((path, SourceText(text)))
    return files.count - 1
  }

  /// The paths of the files, in the order of reading.
  var paths: [String] { files.map(\.path) }

  func path(ofFile file: Int) -> String { files[file].path }

  /// The secrets of this tree are shown as dots. They are looked for when a line of the file is drawn.
  func hideSecrets(of root: YAMLNode, inFile file: Int) { trees[file] = root }

  /// Of a file that could not be parsed.
  func hideValues(ofFile file: Int) { files[file].source.hideValues() }

  /// `line 3`, with its file if `here` is in another one.
  func line(_ place: TextLocation, seenFrom here: TextLocation) -> String {
    place.file == here.file ? "line \(place.line)" : "line \(place.line) of \(files[place.file].path)"
  }

  /// Further errors are only counted: a person needs no more to find out what was meant.
  var isFull: Bool { errorCount >= Self.mostErrors }

  func error(_ place: TextLocation, _ message: String, help: String? = nil) {
    errorCount += 1
    if errorCount <= Self.mostErrors { add(.error, place, message, help) }
  }

  func warning(_ place: TextLocation, _ message: String, help: String? = nil) { add(.warning, place, message, help) }

  func advice(_ place: TextLocation, _ message: String, help: String? = nil) { add(.advice, place, message, help) }

  /// In the order of the files. Lines are drawn only now, when it is known what must not be shown.
  func diagnostics(withAdvice: Bool = true) -> [Diagnostic] {
    var all = found.filter { withAdvice || $0.severity != .advice }.enumerated()
      .sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }
      .map { diagnostic($0.element) }
    if errorCount > Self.mostErrors {
      let rest = errorCount - Self.mostErrors
      let message = rest == 1 ? "1 more error is not shown" : "\(rest) more errors are not shown"
      all.append(Diagnostic(severity: .error, file: files[0].path, message: message))
    }
    return all
  }

  private func add(_ severity: Diagnostic.Severity, _ place: TextLocation, _ message: String, _ help: String?) {
    found.append(Finding(severity: severity, place: place, message: message, help: help))
  }

  private func diagnostic(_ finding: Finding) -> Diagnostic {
    if let tree = trees.removeValue(forKey: finding.place.file) {
      files[finding.place.file].source.hide(SecretMask.stretches(in: tree))
    }
    let (path, source) = files[finding.place.file]
    let place = source.within(finding.place)
    return Diagnostic(
      severity: finding.severity, file: path, line: place.line, column: place.column, length: place.length,
      message: finding.message, help: finding.help,
      sourceLine: place.line > 0 ? source.shown(at: place) : nil)
  }
}

/// `a, b or c`
func listed(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}
