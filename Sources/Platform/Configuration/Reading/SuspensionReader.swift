internal import Policy
internal import Settings

extension SettingsReader {
  /// Reads when to suspend a credential, and returns `nil` for `off` or after an error.
  func suspension(_ node: YAMLNode, at location: TextLocation) -> Suspension? {
    if let text = node.text, !node.isAbsent {
      if text == "off" { return nil }
      report.error(
        node.location, "\(quoted(text)) is not valid: expected a mapping, or off",
        help: Self.meansOff(text)
          ? "to never suspend the credential, write suspend: off"
          : "to suspend the credential for 1 minute after 5 rejections, write { after: 5, for: 1m }")
      return nil
    }
    var suspension = Suspension()
    guard let fields = fields(node, at: location, of: SuspendKey.self) else { return nil }
    if let count = integer(.after, of: fields) { suspension.after = count }
    if let time = fields[.time].flatMap({ duration($0) }) { suspension.time = time }
    return suspension
  }
}
