internal import Settings

/// Reads `audit`: the file with a record of each exchange.
extension SettingsReader {
  func audit(_ node: YAMLNode, at location: TextLocation) -> AuditSettings? {
    guard let fields = fields(node, at: location, of: AuditKey.self) else { return nil }
    let isRequired = fields[.required].flatMap { boolean($0) } ?? false
    guard let node = fields[.file] else {
      missing(
        .file, in: fields, "\"audit\" has no file",
        help: "add file: /var/log/bearerd/audit.log")
      return nil
    }
    guard let file = path(node, "the path of a file") else { return nil }
    if let problem = environment.auditProblem(file) {
      report.error(node.location, problem.message, help: problem.help)
      return nil
    }
    return AuditSettings(file: file, isRequired: isRequired)
  }
}
