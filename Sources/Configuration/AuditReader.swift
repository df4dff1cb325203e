/// `audit`: a file with a record of each exchange. Whether it is fit for that is seen when the daemon opens it: whoever checks
/// the configuration is often somebody else.
extension SettingsReader {
  func audit(_ node: YAMLNode, at place: Place) -> AuditSettings? {
    guard let fields = fields(node, at: place, of: AuditKey.self) else { return nil }
    let isRequired = fields[.required].flatMap { boolean($0) } ?? false
    guard let node = fields[.file] else {
      missing(
        .file, in: fields, "\"audit\" needs a file to write",
        help: "for example audit: { file: /var/log/bearerd/audit.log }")
      return nil
    }
    guard let file = path(node, "the path of a file") else { return nil }
    if let status = environment.fileStatus(file), !status.isRegular {
      report.error(node.place, "\(file) is not a regular file")
      return nil
    }
    return AuditSettings(file: file, isRequired: isRequired)
  }
}
