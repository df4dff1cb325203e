internal import Policy

extension RegistryKey: TrustKey { static let ifPinsFail = "bearerd requests no tokens" }

/// Reads `registry` of a credential: the token flow of container registries.
extension SettingsReader {
  func registry(_ node: YAMLNode, at location: TextLocation, of name: String) -> CredentialSettings.Scheme? {
    guard case .mapping = node.content else {
      report.error(
        node.location, "\"registry\" must be a mapping with a realm, a user and a password",
        help: "write registry: { realm: https://HOST/token, user: NAME, password: { file: NAME } }")
      return nil
    }
    guard let fields = fields(node, at: location, of: RegistryKey.self) else { return nil }
    let errors = report.errorCount
    let realm = realm(fields)
    let trust = trust(fields)
    let allowed = allowedAddresses(fields)
    guard let realm else { return nil }
    var registry = CredentialSettings.Registry(name: name, realm: realm)
    (registry.trust, registry.allowedAddresses) = (trust, allowed)
    readLogin(fields, into: &registry)
    if let time = duration(.timeout, of: fields, "requests have to wait for the token") { registry.timeout = time }
    if let size = size(.replayBuffer, of: fields) { registry.replayBuffer = size }
    return report.errorCount == errors ? .registry(registry) : nil
  }

  private func realm(_ fields: Fields<RegistryKey>) -> Endpoint? {
    guard let node = fields[.realm] else {
      missing(
        .realm, in: fields, "\"registry\" has no realm",
        help: "add realm: URL. To see the URL, run: curl -si https://REGISTRY/v2/ | grep -i realm=")
      return nil
    }
    return endpoint(node, like: "https://auth.example.com/token")
  }

  /// Reads `user` and `password`, which must both be present or both be missing.
  private func readLogin(_ fields: Fields<RegistryKey>, into registry: inout CredentialSettings.Registry) {
    let origins = [registry.realm.origin]
    if let node = fields[.user] {
      let use = SecretUse(role: .user, origins: origins)
      registry.user = value(node, at: fields.location(of: .user), "a user name, or { file: NAME }", for: use)
      if case .plain(let text) = registry.user, text.contains(":") {
        report.error(node.location, "the user name has a colon, which Basic does not allow")
      }
    }
    if let node = fields[.password] {
      let use = SecretUse(role: .password(of: registry.user?.plainText), origins: origins)
      registry.password = source(node, at: fields.location(of: .password), for: use)
    }
    if fields.has(.user) != fields.has(.password) {
      let key = fields.has(.user) ? RegistryKey.user : .password
      report.error(
        fields.location(of: key), "\"user\" and \"password\" must be used together",
        help: "delete both if the registry gives tokens to everyone")
    }
  }
}
