internal import Policy
internal import Settings

/// Reads `limits`, `timeouts` and `suspend`.
struct LimitsReader: SectionReader {
  let context: ReadingContext

  func limits(_ top: Fields<TopKey>) -> Limits {
    var limits = Limits()
    guard let fields = section(.limits, of: top, as: LimitKey.self) else { return limits }
    read(fields, into: &limits)
    limits.tcpKeepalive = keepalive(fields)
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
        "\"target\" (\(sizeText(limits.target))) must be less than \"head\" (\(sizeText(limits.head))), because the head contains the target"
      )
    }
    return limits
  }

  /// Reads `tcp_keepalive`, and returns `nil` for `off` or after an error.
  private func keepalive(_ limits: Fields<LimitKey>) -> Keepalive? {
    var keepalive = Keepalive()
    guard limits.has(.tcpKeepalive) else { return keepalive }
    guard
      let fields = sectionOrOff(
        .tcpKeepalive, of: limits, as: KeepaliveKey.self,
        help: { _ in "write tcp_keepalive: { idle: 60s, interval: 15s, probes: 4 }, or tcp_keepalive: off" })
    else { return nil }
    read(fields, into: &keepalive)
    return keepalive
  }

  /// Reads when to suspend a credential, and returns `nil` for `off` or after an error.
  func suspension(_ credential: Fields<CredentialKey>) -> Suspension? {
    var suspension = Suspension()
    guard credential.has(.suspend) else { return suspension }
    guard
      let fields = sectionOrOff(
        .suspend, of: credential, as: SuspendKey.self,
        help: {
          meansOff($0)
            ? "to never suspend the credential, write suspend: off"
            : "to suspend the credential for 1 minute after 5 rejections, write { after: 5, for: 1m }"
        })
    else { return nil }
    read(fields, into: &suspension)
    return suspension
  }

  /// Reads a mapping, and returns `nil` for `off` or after an error.
  /// - Parameter help: Returns the help for a word other than `off`.
  private func sectionOrOff<Outer: ConfigurationKey, Inner: ConfigurationKey>(
    _ key: Outer, of outer: Fields<Outer>, as: Inner.Type, help: (String) -> String
  ) -> Fields<Inner>? {
    guard let node = outer[key], let text = node.text, !node.isAbsent else { return section(key, of: outer) }
    guard text != "off" else { return nil }
    return report.error(
      node.location, "\(quoted(text)) is not valid: expected a mapping, or off", help: help(text))
  }

  func timeouts<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>, over defaults: Timeouts) -> Timeouts {
    var timeouts = defaults
    if let fields = section(key, of: fields, as: TimeoutKey.self) { read(fields, into: &timeouts) }
    return timeouts
  }
}
