internal import Configuration

/// Advice that holds for several places of a file: said once, with the lines of the others.
enum RepeatedAdvice {
  static func gathered(_ findings: [Diagnostic]) -> [Diagnostic] {
    var lines: [String: [Int]] = [:]
    for finding in findings where finding.severity == .advice {
      lines[kind(of: finding), default: []].append(finding.line)
    }
    var said: Set<String> = []
    return findings.compactMap { finding in
      guard finding.severity == .advice, let all = lines[kind(of: finding)], all.count > 1 else { return finding }
      return said.insert(kind(of: finding)).inserted ? finding.naming(Array(all.dropFirst())) : nil
    }
  }

  /// The finding's sentence without the names in quotation marks, which are all that differs.
  private static func kind(of finding: Diagnostic) -> String {
    finding.message.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
      .map { $0.isMultiple(of: 2) ? String($1) : "…" }.joined()
  }
}

extension Diagnostic {
  /// - Parameter others: lines, in the order of the file.
  fileprivate func naming(_ others: [Int]) -> Diagnostic {
    let shown = others.prefix(12).map(String.init)
    let rest = others.count - shown.count
    let list = shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    return Diagnostic(
      severity: severity, file: file, line: line, column: column, length: length, message: message,
      help: (help.map { $0 + "\n" } ?? "") + "the same applies to line\(others.count == 1 ? "" : "s") \(list)",
      sourceLine: sourceLine)
  }
}
