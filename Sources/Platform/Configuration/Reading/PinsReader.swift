internal import Policy
internal import Primitives
internal import Settings

/// The keys for pins, such as `pins` and `pin_mode`.
protocol PinKey: ConfigurationKey {
  static var pins: Self { get }
  static var backupPin: Self { get }
  static var pinMode: Self { get }
  static var pinsExpire: Self { get }
  /// What happens after the pins or the revocation lists have expired, as the end of a message.
  static var ifTrustFails: String { get }
}

struct PinsReader<Key: PinKey>: SectionReader {
  let context: ReadingContext
  let fields: Fields<Key>

  func pinning() -> PinPolicy {
    var pinning = PinPolicy()
    pinning.mode = choice(.pinMode, of: fields) ?? pinning.mode
    let acceptsOutage = fields[.backupPin].flatMap { choice($0, [("none", true)]) } ?? false
    pinning.expires = fields[.pinsExpire].flatMap { date($0) }
    guard let node = fields[.pins] else {
      for key in [Key.backupPin, .pinMode, .pinsExpire] where fields.has(key) {
        report.error(
          fields.location(of: key), "\"\(key.rawValue)\" is allowed only with pins",
          help: "add pins, or delete the line")
      }
      return pinning
    }
    if let nodes = list(node, of: "pins") { pinning.pins = pins(nodes, acceptsOutage: acceptsOutage) }
    warn(pinning)
    return pinning
  }

  private func pins(_ nodes: [YAMLNode], acceptsOutage: Bool) -> [Pin] {
    var pins: [Pin] = []
    let errors = report.errorCount
    for node in nodes {
      guard let pin = pin(node) else { continue }
      if pins.contains(pin) {
        report.error(node.location, "this pin is listed twice: the backup must be the pin of another key")
      }
      pins.append(pin)
    }
    guard report.errorCount == errors else { return [] }
    if pins.isEmpty {
      report.error(
        fields.location(of: .pins), "the list of pins is empty", help: "delete the line, or run \"bearerctl pin HOST\"")
    } else if pins.count == 1, !acceptsOutage {
      report.error(
        fields.location(of: .pins), "there is only one pin: when the upstream changes its key, every request will fail",
        help:
          "add the pin of the next key or of the issuer. If you accept that requests then fail, add backup_pin: none")
    }
    if pins.count > 1, acceptsOutage {
      report.error(
        fields.location(of: .backupPin),
        "\"backup_pin: none\" is not allowed with \(pins.count) pins, because one of them is a backup",
        help: "delete the line")
    }
    return pins
  }

  private func pin(_ node: YAMLNode) -> Pin? {
    guard let pin = parsed(node, "a pin like sha256/BASE64", Pin.init(parsing:)) else { return nil }
    // Examples often have `AAAA…=`, and some programs accept this text as a backup pin.
    if let first = pin.digest.first, !pin.digest.allSatisfy({ $0 == first }) { return pin }
    return report.error(
      node.location, "this is a placeholder, not the pin of a key", help: "run \"bearerctl pin HOST\"")
  }

  private func warn(_ policy: PinPolicy) {
    if policy.mode == .report {
      report.warning(
        fields.location(of: .pinMode), "pin_mode is report: bearerd logs a mismatch, but still sends the credential")
    }
    guard let expires = policy.expires else { return }
    let location = fields.valueLocation(of: .pinsExpire)
    if expires <= environment.now {
      report.warning(
        location, "the pins expired on \(CivilTime.day(of: expires)): \(Key.ifTrustFails)",
        help: "compare the pins with the output of \"bearerctl pin HOST\". Then write a later date")
    } else if let time = timeLeft(until: expires) {
      report.warning(location, "the pins expire \(time). After that, \(Key.ifTrustFails)")
    }
  }
}
