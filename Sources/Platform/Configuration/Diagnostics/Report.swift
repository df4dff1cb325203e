/// Collects what there is to say about one file, so that a person sees all of it in one go.
final class Report {
  /// A file with more errors than this is of another kind, not misspelt.
  static let mostErrors = 100

  let file: String
  var source: SourceText
  private(set) var errorCount = 0
  private var found: [Finding] = []

  private struct Finding {
    let severity: Diagnostic.Severity
    let place: TextLocation
    let message: String
    let help: String?
  }

  init(file: String, text: [UInt8]) {
    self.file = file
    source = SourceText(text)
  }

  /// Further errors are only counted: a person needs no more to find out what was meant.
  var isFull: Bool { errorCount >= Self.mostErrors }

  func error(_ place: TextLocation, _ message: String, help: String? = nil) {
    errorCount += 1
    if errorCount <= Self.mostErrors { add(.error, place, message, help) }
  }

  func warning(_ place: TextLocation, _ message: String, help: String? = nil) { add(.warning, place, message, help) }

  func advice(_ place: TextLocation, _ message: String, help: String? = nil) { add(.advice, place, message, help) }

  /// In the order of the file. Lines are drawn only now, when it is known what must not be shown.
  func diagnostics() -> [Diagnostic] {
    var all = found.enumerated()
      .sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }
      .map { diagnostic($0.element) }
    if errorCount > Self.mostErrors {
      let rest = errorCount - Self.mostErrors
      let message = rest == 1 ? "1 more error is not shown" : "\(rest) more errors are not shown"
      all.append(Diagnostic(severity: .error, file: file, message: message))
    }
    return all
  }

  private func add(_ severity: Diagnostic.Severity, _ place: TextLocation, _ message: String, _ help: String?) {
    found.append(Finding(severity: severity, place: place, message: message, help: help))
  }

  private func diagnostic(_ finding: Finding) -> Diagnostic {
    let place = source.within(finding.place)
    return Diagnostic(
      severity: finding.severity, file: file, line: place.line, column: place.column, length: place.length,
      message: finding.message, help: finding.help,
      sourceLine: place.line > 0 ? source.shown(at: place) : nil)
  }
}

/// `a, b or c`
func listed(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}
