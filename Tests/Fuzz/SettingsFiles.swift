import Configuration
import Policy
import Settings

/// Reads the input as a configuration file.
func fuzzSettings(_ bytes: [UInt8]) {
  let lines = Lines(bytes)
  let first = read(bytes)
  switch first {
  case .success(let (settings, warnings)):
    for warning in warnings {
      promise(warning.severity != .error, "an error of a file that was taken")
      lines.check(warning)
    }
    check(settings)
    guard case .success(let (again, _)) = read(bytes) else { return promise(false, "taken once, and then refused") }
    promise(again == settings, "read twice, and differently")
  case .failure(let errors):
    promise(errors.diagnostics.contains { $0.severity == .error }, "refused without an error")
    for diagnostic in errors.diagnostics { lines.check(diagnostic) }
  }
}

private func read(_ bytes: [UInt8]) -> Result<(DaemonSettings, warnings: [Diagnostic]), ConfigurationErrors> {
  let users: [String: UInt32] = ["root": 0, "dev": 1000, "deploy": 1001]
  let environment = ConfigurationReader.Environment(
    uid: 1000, now: 1_782_864_000, userID: { users[$0] }, groupMembers: { $0 == "developers" ? [1000, 1001] : nil },
    files: FileQueries(
      status: { path in
        path == "/etc/bearerd" ? (0, 0o755, false) : path.utf8.contains(0x21) ? nil : (0, 0o640, true)
      }, content: { _ in bytesOf("-----BEGIN CERTIFICATE-----\n") }), auditProblem: { _ in nil },
    hasIPv6: true)
  return ConfigurationReader.read(text: bytes, file: "/etc/bearerd/bearerd.yaml", environment: environment)
}

/// Checks that credentials are only for HTTPS origins, and that all indices are valid.
private func check(_ settings: DaemonSettings) {
  let rules = settings.rules
  promise(rules.grants.count == settings.credentials.count, "grants and credentials")
  for grant in rules.grants {
    promise(!grant.origins.isEmpty && grant.origins.allSatisfy { $0.scheme == .https }, "origins of \(grant.name)")
  }
  for service in rules.services {
    promise(settings.listeners.indices.contains(service.listener), "the listener of \(service.name)")
    let choices =
      [service.credential]
      + (service.rules ?? []).compactMap { rule in
        if case .forward(let choice) = rule.action { choice } else { nil }
      }
    for case .inject(let index) in choices {
      promise(rules.grants.indices.contains(index), "a credential of \(service.name)")
      promise(
        rules.grants[index].allows(service.upstream.origin), "\(service.name) has a credential that may not go there")
    }
  }
}

/// The lines of the file.
private struct Lines {
  private let lines: [[Unicode.Scalar]]

  init(_ bytes: [UInt8]) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: mark) ? bytes[3...] : bytes[...]
    lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).map {
      Array(String(decoding: $0, as: UTF8.self).unicodeScalars)
    }
  }

  /// Checks that a message names an existing line and column, shows only text of this line, and has no control
  /// characters.
  func check(_ diagnostic: Diagnostic) {
    let words = "\(diagnostic.line):\(diagnostic.column): \(diagnostic.message)"
    promise(!diagnostic.message.isEmpty && !diagnostic.message.unicodeScalars.contains(where: isControl), words)
    promise(diagnostic.message.utf8.count < 2000, "a message of \(diagnostic.message.utf8.count) bytes")
    promise(diagnostic.help?.unicodeScalars.contains { isControl($0) && $0 != "\n" } != true, words)
    promise(diagnostic.file == "/etc/bearerd/bearerd.yaml", words)
    if diagnostic.line == 0 { return promise(diagnostic.sourceLine == nil, words) }
    promise((1...lines.count).contains(diagnostic.line), "there is no line \(words)")
    let line = lines[diagnostic.line - 1]
    promise((1...(line.count + 1)).contains(diagnostic.column), "there is no column \(words)")
    guard let sourceLine = diagnostic.sourceLine else { return }
    var shown = Array(sourceLine.unicodeScalars)
    if shown.last == "…", shown.count > line.count || shown.count == 241 { shown.removeLast() }
    if shown.last == "…", shown.dropLast().last == "#" { shown.removeLast() }
    promise(shown.count <= line.count, "more than the line is shown: \(sourceLine.debugDescription)")
    for (index, scalar) in shown.enumerated() {
      promise(
        scalar == line[index] && !isControl(scalar) || ["•", " ", "\u{FFFD}"].contains(scalar),
        "another line is shown: \(sourceLine.debugDescription)")
    }
  }

  private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
