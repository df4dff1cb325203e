internal import Configuration

/// Merges the same advice about several lines of a configuration into one finding.
enum RepeatedAdvice {
  static func gathered(_ findings: [Diagnostic]) -> [Diagnostic] {
    var lines: [String: [Int]] = [:]
    for finding in findings where finding.severity == .advice {
      lines[kind(of: finding), default: []].append(finding.line)
    }
    var reported: Set<String> = []
    return findings.compactMap { finding in
      guard finding.severity == .advice, let all = lines[kind(of: finding)], all.count > 1 else { return finding }
      return reported.insert(kind(of: finding)).inserted ? finding.naming(Array(all.dropFirst())) : nil
    }
  }

  /// Returns the message with `…` for each quoted name.
  private static func kind(of finding: Diagnostic) -> String {
    // Findings with the same result give the same advice.
    finding.message.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
      .map { $0.isMultiple(of: 2) ? String($1) : "…" }.joined()
  }
}

extension Diagnostic {
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
