internal import Policy

extension RegistryKey: TrustKey { static let ifPinsFail = "no token is asked for" }

/// `registry` of a credential: the token flow of container registries.
extension SettingsReader {
  /// - Parameter name: of the credential.
  func registry(_ node: YAMLNode, at place: TextLocation, of name: String) -> CredentialSettings.Scheme? {
    guard case .mapping = node.content else {
      report.error(
        node.place, "\"registry\" is where its tokens are granted, and for whom",
        help: "write registry: { realm: https://HOST/token, user: NAME, password: { file: NAME } }")
      return nil
    }
    guard let fields = fields(node, at: place, of: RegistryKey.self) else { return nil }
    let errors = report.errorCount
    let realm = realm(fields)
    let trust = trust(fields)
    let allowed = allowedAddresses(fields)
    guard let realm else { return nil }
    var registry = CredentialSettings.Registry(name: name, realm: realm)
    (registry.trust, registry.allowedAddresses) = (trust, allowed)
    readLogin(fields, into: &registry)
    if let time = duration(.timeout, of: fields, "nobody waits so long for a token") { registry.timeout = time }
    if let size = size(.replayBuffer, of: fields) { registry.replayBuffer = size }
    return report.errorCount == errors ? .registry(registry) : nil
  }

  private func realm(_ fields: Fields<RegistryKey>) -> Endpoint? {
    guard let node = fields[.realm] else {
      missing(
        .realm, in: fields, "\"registry\" does not say where tokens are granted",
        help: "add to it what the registry says: curl -si https://REGISTRY/v2/ | grep -i realm=")
      return nil
    }
    return endpoint(node, like: "https://auth.example.com/token")
  }

  /// Both, or neither.
  private func readLogin(_ fields: Fields<RegistryKey>, into registry: inout CredentialSettings.Registry) {
    let origins = [registry.realm.origin]
    if let node = fields[.user] {
      let use = SecretUse(role: .user, origins: origins)
      registry.user = value(node, at: fields.place(of: .user), "a user's name, or { file: NAME }", for: use)
      if case .plain(let text) = registry.user, text.contains(":") {
        report.error(node.place, "a colon in the user's name: Basic would end the name there")
      }
    }
    if let node = fields[.password] {
      let use = SecretUse(role: .password(of: registry.user?.plainText), origins: origins)
      registry.password = source(node, at: fields.place(of: .password), for: use)
    }
    if fields.has(.user) != fields.has(.password) {
      let key = fields.has(.user) ? RegistryKey.user : .password
      report.error(
        fields.place(of: key), "\"user\" and \"password\" come together",
        help: "leave both out where tokens are granted to everybody")
    }
  }
}
