internal import Policy
internal import Primitives
internal import Settings

/// The keys for TLS trust, such as `pins`.
protocol TrustKey: ConfigurationKey {
  static var pins: Self { get }
  static var backupPin: Self { get }
  static var pinMode: Self { get }
  static var pinsExpire: Self { get }
  static var caFile: Self { get }
  static var allowAddresses: Self { get }
  /// What happens after the pins have expired, as the end of a message.
  static var ifPinsFail: String { get }
}

extension ServiceKey: TrustKey { static let ifPinsFail = "requests to this service get 502" }
extension OAuth2Key: TrustKey { static let ifPinsFail = "bearerd requests no tokens" }
extension LoginKey: TrustKey { static let ifPinsFail = "bearerd does not log in" }

/// Reads the keys for TLS trust, and the allowed addresses.
extension SettingsReader {
  func trust<Key: TrustKey>(_ fields: Fields<Key>) -> TrustPolicy {
    var trust = TrustPolicy()
    if let node = fields[.caFile], let path = path(node, "the path of a PEM file") {
      checkCertificates(path, at: node.location)
      trust.caFile = path
    }
    if let mode = fields[.pinMode].flatMap({ choice($0, [("enforce", PinPolicy.Mode.enforce), ("report", .report)]) }) {
      trust.pinning.mode = mode
    }
    let acceptsOutage = fields[.backupPin].flatMap { choice($0, [("none", true)]) } ?? false
    trust.pinning.expires = fields[.pinsExpire].flatMap { date($0) }
    guard let node = fields[.pins] else {
      for key in [Key.backupPin, .pinMode, .pinsExpire] where fields.has(key) {
        report.error(
          fields.location(of: key), "\"\(key.rawValue)\" is allowed only with pins",
          help: "add pins, or delete the line")
      }
      return trust
    }
    if let nodes = list(node, of: "pins") { trust.pinning.pins = pins(nodes, fields, acceptsOutage: acceptsOutage) }
    warn(trust.pinning, fields)
    return trust
  }

  private func pins<Key: TrustKey>(_ nodes: [YAMLNode], _ fields: Fields<Key>, acceptsOutage: Bool) -> [Pin] {
    var pins: Set<Pin> = []
    let errors = report.errorCount
    for node in nodes {
      guard let pin = pin(node) else { continue }
      if !pins.insert(pin).inserted {
        report.error(node.location, "this pin is listed twice: the backup must be the pin of another key")
      }
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
    return pins.sorted { $0.digest.lexicographicallyPrecedes($1.digest) }
  }

  private func pin(_ node: YAMLNode) -> Pin? {
    guard let text = text(node, "a pin like sha256/BASE64") else { return nil }
    do throws(PolicySyntaxError) {
      let pin = try Pin(parsing: text)
      // Examples often have `AAAA…=`, and some programs accept this text as a backup pin.
      guard let first = pin.digest.first, !pin.digest.allSatisfy({ $0 == first }) else {
        report.error(node.location, "this is a placeholder, not the pin of a key", help: "run \"bearerctl pin HOST\"")
        return nil
      }
      return pin
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  private func warn<Key: TrustKey>(_ policy: PinPolicy, _ fields: Fields<Key>) {
    switch policy.mode {
    case .report:
      report.warning(
        fields.location(of: .pinMode), "pin_mode is report: bearerd logs a mismatch, but still sends the credential")
    case .enforce: break
    }
    guard let expires = policy.expires else { return }
    let day = 86_400
    let location = fields[.pinsExpire]?.location ?? fields.location
    if expires <= environment.now {
      report.warning(
        location, "the pins expired on \(CivilTime.day(of: expires)): \(Key.ifPinsFail)",
        help: "compare the pins with the output of \"bearerctl pin HOST\". Then write a later date")
    } else if expires &- environment.now < Int64(30 * day) {
      let days = (expires &- environment.now) / Int64(day)
      let time = days == 0 ? "within a day" : days == 1 ? "in 1 day" : "in \(days) days"
      report.warning(location, "the pins expire \(time). After that, \(Key.ifPinsFail)")
    }
  }

  func allowedAddresses<Key: TrustKey>(_ fields: Fields<Key>) -> [AddressBlock] {
    let nodes = fields[.allowAddresses].flatMap { filledList($0, of: "address blocks like 10.0.0.0/8") } ?? []
    return nodes.compactMap { node in
      guard let text = text(node, "an address block like 10.0.0.0/8") else { return nil }
      if let block = AddressBlock(parsing: text) { return block }
      report.error(
        node.location, "\(quoted(text)) is not an address block", help: "write it like 10.0.0.0/8 or fd00::/8")
      return nil
    }
  }
}
