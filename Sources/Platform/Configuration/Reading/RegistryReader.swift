internal import Policy
internal import Settings

extension RegistryKey: TrustKey { static let ifPinsFail = "bearerd requests no tokens" }

/// Reads `registry` of a credential: the token flow of container registries.
extension SettingsReader {
  func registry(_ node: YAMLNode, at location: TextLocation, of draft: inout CredentialDraft) -> AuthScheme? {
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
    var registry = TokenSource(
      credential: draft.name, endpoint: realm, grant: .clientCredentials,
      client: TokenClient(id: "", authentication: .none))
    (registry.trust, registry.allowedAddresses) = (trust, allowed)
    let login = login(fields, at: realm)
    if let time = duration(.timeout, of: fields, "requests have to wait for the token") { registry.timeout = time }
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? RegistryKey.replayBufferDefault
    return report.errorCount == errors ? .registry(login: login, registry) : nil
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
  private func login(_ fields: Fields<RegistryKey>, at realm: Endpoint) -> RegistryLogin? {
    let origins = [realm.origin]
    var (user, password): (FieldValue?, SecretSource?)
    if let node = fields[.user] {
      let use = SecretUse(role: .user, origins: origins)
      user = value(node, at: fields.location(of: .user), "a user name, or { file: NAME }", for: use)
      if case .plain(let text) = user, text.contains(":") {
        report.error(node.location, "the user name has a colon, which Basic does not allow")
      }
    }
    if let node = fields[.password] {
      let use = SecretUse(role: .password(of: user?.plainText), origins: origins)
      password = source(node, at: fields.location(of: .password), for: use)
    }
    if fields.has(.user) != fields.has(.password) {
      let key = fields.has(.user) ? RegistryKey.user : .password
      report.error(
        fields.location(of: key), "\"user\" and \"password\" must be used together",
        help: "delete both if the registry gives tokens to everyone")
    }
    guard let user, let password else { return nil }
    return RegistryLogin(user: user, password: password)
  }
}
