internal import Policy
internal import Settings

extension SettingsReader {
  func limits(_ node: YAMLNode, at location: TextLocation) -> Limits {
    var limits = Limits()
    guard let fields = fields(node, at: location, of: LimitKey.self) else { return limits }
    if let bytes = size(.head, of: fields) { limits.headBytes = bytes }
    if let count = integer(.fields, of: fields) { limits.fields = count }
    if let bytes = size(.target, of: fields) { limits.targetBytes = bytes }
    if let count = integer(.connections, of: fields) { limits.connections = count }
    if let count = integer(.connectionsPerUser, of: fields) {
      limits.connectionsPerUser = count
    }
    if let count = integer(.requestsPerUser, of: fields) {
      limits.requestsPerUser = count
    }
    if let count = integer(.idlePerIdentity, of: fields) { limits.idlePerIdentity = count }
    if let time = fields[.clientHead].flatMap({ duration($0) }) { limits.clientHead = time }
    if let time = fields[.clientIdle].flatMap({ duration($0) }) { limits.clientIdle = time }
    if let bytes = size(.clientBodyRate, of: fields) { limits.clientBodyRate = bytes }
    if let bytes = size(.decodedError, of: fields) { limits.decodedError = bytes }
    if let time = fields[.upstreamIdle].flatMap({ duration($0) }) { limits.upstreamIdle = time }
    if let time = fields[.drain].flatMap({ duration($0, orZero: true) }) { limits.drain = time }
    if let time = fields[.revokedGrace].flatMap({ duration($0, orZero: true) }) { limits.revokedGrace = time }
    if let node = fields[.tcpKeepalive] {
      limits.keepalive = keepalive(node, at: fields.location(of: .tcpKeepalive))
    }
    if let perUser = limits.connectionsPerUser, perUser > limits.connections {
      report.warning(
        fields.location(of: .connectionsPerUser),
        "\"connections_per_user\" (\(perUser)) is more than \"connections\" (\(limits.connections)): one user can take all connections",
        help: "write a smaller number, or delete the line: the default is three quarters of \"connections\"")
    }
    if limits.targetBytes >= limits.headBytes {
      let key = fields.has(.target) ? LimitKey.target : .head
      report.error(
        fields.location(of: key),
        "\"target\" (\(Self.sizeText(limits.targetBytes))) must be less than \"head\" (\(Self.sizeText(limits.headBytes))), because the head contains the target"
      )
    }
    return limits
  }

  /// Reads `tcp_keepalive`, and returns `nil` for `off` or after an error.
  private func keepalive(_ node: YAMLNode, at location: TextLocation) -> Keepalive? {
    if let text = node.text, !node.isAbsent {
      if text == "off" { return nil }
      report.error(
        node.location, "\(quoted(text)) is not valid: expected a mapping, or off",
        help: "write tcp_keepalive: { idle: 60s, interval: 15s, probes: 4 }, or tcp_keepalive: off")
      return nil
    }
    var keepalive = Keepalive()
    guard let fields = fields(node, at: location, of: KeepaliveKey.self) else { return nil }
    let reason = "Linux does not accept more"
    if let time = duration(.idle, of: fields, reason) { keepalive.idle = time }
    if let time = duration(.interval, of: fields, reason) { keepalive.interval = time }
    if let count = integer(.probes, of: fields) { keepalive.probes = count }
    return keepalive
  }

  func timeouts(_ node: YAMLNode, at location: TextLocation, over defaults: Timeouts) -> Timeouts {
    var timeouts = defaults
    guard let fields = fields(node, at: location, of: TimeoutKey.self) else { return timeouts }
    if let time = fields[.connect].flatMap({ duration($0) }) { timeouts.connect = time }
    if let time = fields[.handshake].flatMap({ duration($0) }) { timeouts.handshake = time }
    if let time = fields[.responseHead].flatMap({ optionalDuration($0) }) { timeouts.responseHead = time }
    if let time = fields[.bodySilence].flatMap({ optionalDuration($0) }) { timeouts.bodySilence = time }
    if let time = fields[.upgraded].flatMap({ optionalDuration($0) }) { timeouts.upgraded = time }
    if let time = fields[.total].flatMap({ optionalDuration($0) }) { timeouts.total = time }
    return timeouts
  }
}
