internal import Policy
internal import Settings

extension SettingsReader {
  func limits(_ node: YAMLNode, at location: TextLocation) -> Limits {
    var limits = Limits()
    guard let fields = fields(node, at: location, of: LimitKey.self) else { return limits }
    read(fields, into: &limits)
    if let node = fields[.tcpKeepalive] {
      limits.tcpKeepalive = keepalive(node, at: fields.location(of: .tcpKeepalive))
    }
    if let perUser = limits.connectionsPerUser, perUser > limits.connections {
      report.warning(
        fields.location(of: .connectionsPerUser),
        "\"connections_per_user\" (\(perUser)) is more than \"connections\" (\(limits.connections)): one user can take all connections",
        help: "write a smaller number, or delete the line: the default is three quarters of \"connections\"")
    }
    if limits.target >= limits.head {
      let key = fields.has(.target) ? LimitKey.target : .head
      report.error(
        fields.location(of: key),
        "\"target\" (\(Self.sizeText(limits.target))) must be less than \"head\" (\(Self.sizeText(limits.head))), because the head contains the target"
      )
    }
    return limits
  }

  /// Reads `tcp_keepalive`, and returns `nil` for `off` or after an error.
  private func keepalive(_ node: YAMLNode, at location: TextLocation) -> Keepalive? {
    var keepalive = Keepalive()
    guard
      let fields = fieldsOrOff(
        node, at: location, of: KeepaliveKey.self,
        help: { _ in "write tcp_keepalive: { idle: 60s, interval: 15s, probes: 4 }, or tcp_keepalive: off" })
    else { return nil }
    read(fields, into: &keepalive)
    return keepalive
  }

  /// Reads when to suspend a credential, and returns `nil` for `off` or after an error.
  func suspension(_ node: YAMLNode, at location: TextLocation) -> Suspension? {
    var suspension = Suspension()
    guard
      let fields = fieldsOrOff(
        node, at: location, of: SuspendKey.self,
        help: {
          Self.meansOff($0)
            ? "to never suspend the credential, write suspend: off"
            : "to suspend the credential for 1 minute after 5 rejections, write { after: 5, for: 1m }"
        })
    else { return nil }
    read(fields, into: &suspension)
    return suspension
  }

  /// Reads a mapping, and returns `nil` for `off` or after an error.
  /// - Parameter help: Returns the help for a word other than `off`.
  private func fieldsOrOff<Key: ConfigurationKey>(
    _ node: YAMLNode, at location: TextLocation, of: Key.Type, help: (String) -> String
  ) -> Fields<Key>? {
    guard let text = node.text, !node.isAbsent else { return fields(node, at: location, of: Key.self) }
    guard text != "off" else { return nil }
    report.error(
      node.location, "\(quoted(text)) is not valid: expected a mapping, or off", help: help(text))
    return nil
  }

  func timeouts(_ node: YAMLNode, at location: TextLocation, over defaults: Timeouts) -> Timeouts {
    var timeouts = defaults
    if let fields = fields(node, at: location, of: TimeoutKey.self) { read(fields, into: &timeouts) }
    return timeouts
  }
}
