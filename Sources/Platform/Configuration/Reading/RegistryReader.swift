internal import Policy
internal import Settings

/// Reads `registry` of a credential: the token flow of container registries.
struct RegistryReader: SectionReader {
  let context: ReadingContext

  func scheme(_ credential: Fields<CredentialKey>, of draft: inout CredentialDraft) -> AuthScheme? {
    guard
      let fields: Fields<RegistryKey> = section(
        .registry, of: credential, having: "a realm, a user and a password",
        help: "write registry: { realm: https://HOST/token, user: NAME, password: { file: NAME } }")
    else { return nil }
    let errors = report.errorCount
    required(
      .realm, of: fields, "\"registry\" has no realm",
      help: "add realm: URL. To see the URL, run: curl -si https://REGISTRY/v2/ | grep -i realm=")
    let realm = endpoint(.realm, of: fields, like: "https://auth.example.com/token")
    let trust = TrustReader(context: context, fields: fields)
    let (policy, allowed) = (trust.trust(for: realm?.origin.host), trust.allowedAddresses())
    guard let realm else { return nil }
    var registry = TokenSource(
      credential: draft.name, endpoint: realm, grant: .clientCredentials,
      client: TokenClient(id: "", authentication: .none))
    (registry.trust, registry.allowedAddresses) = (policy, allowed)
    let login = login(fields, at: realm)
    registry.timeout = duration(.timeout, of: fields, "requests have to wait for the token") ?? registry.timeout
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? RegistryKey.replayBufferDefault
    return report.errorCount == errors ? .registry(login: login, registry) : nil
  }

  /// Reads `user` and `password`, which must both be present or both be missing.
  private func login(_ fields: Fields<RegistryKey>, at realm: Endpoint) -> RegistryLogin? {
    let user = userName(.user, of: fields, to: [realm.origin], scheme: "Basic")
    let password = source(.password, of: fields, for: .password(of: user?.plainText), to: [realm.origin])
    checkTogether(.user, .password, in: fields, help: "delete both if the registry gives tokens to everyone")
    guard let user, let password else { return nil }
    return RegistryLogin(user: user, password: password)
  }
}
