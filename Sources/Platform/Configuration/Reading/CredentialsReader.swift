internal import Policy
internal import Settings

struct CredentialsReader: SectionReader {
  let context: ReadingContext

  func credentials(_ top: Fields<TopKey>) -> [CredentialDraft] {
    guard let node = top[.credentials] else { return [] }
    let all = named(node, "a credential")
    // Logins come second, because their fields can name other credentials.
    let drafts = all.map { isLogin($0.value) ? nil : credential($0) }
    let others = drafts.compactMap(\.self)
    return zip(all, drafts).map { named, draft in draft ?? credential(named, others: others) }
  }

  private func isLogin(_ node: YAMLNode) -> Bool {
    guard case .mapping(let entries) = node.content else { return false }
    return entries.contains { $0.name == CredentialKey.login.rawValue }
  }

  /// - Parameter others: the credentials that are not logins.
  private func credential(_ named: Named, others: [CredentialDraft] = []) -> CredentialDraft {
    var draft = CredentialDraft(name: named.name, location: named.location, originsLocation: named.location)
    if named.name == "none" || named.name == "pass" {
      report.error(
        named.location, "\"\(named.name)\" is reserved and cannot be the name of a credential",
        help: "choose another name")
    }
    guard let fields = fields(named.value, at: named.location, of: CredentialKey.self) else { return draft }
    draft.originsLocation = fields.location(of: .origins)
    draft.origins = origins(fields)
    let clients = fields[.allowClients].map { ClientsReader(context: context).clientReferences($0) }
    draft.clients = clients ?? []
    draft.callers = CallersReader(context: context).callers(
      users: fields[.allowUsers], groups: fields[.allowGroups], clients: clients)
    draft.certificate = ClientCertificateReader(context: context).certificate(fields)
    draft.scheme = scheme(fields, of: &draft, others)
    draft.suspension = LimitsReader(context: context).suspension(fields)
    draft.cutsOnChange = fields[.onChange].flatMap { choice($0, [("keep", false), ("cut", true)]) } ?? false
    let mode = ModeReader(context: context, fields: fields)
    draft.realm = mode.realm() ?? draft.realm
    if let buffer = mode.challengeReplayBuffer() {
      draft.waitsForChallenge = true
      if draft.replayBuffer == nil { draft.replayBuffer = buffer }
    }
    if draft.scheme?.usesEnvironment == true, let key = Self.schemes.first(where: fields.has) {
      draft.environmentLocation = fields.location(of: key)
    }
    return draft
  }

  private func origins(_ fields: Fields<CredentialKey>) -> [Origin] {
    let node = required(
      .origins, of: fields,
      "the credential has no origins: bearerd sends a credential only to the origins that it lists",
      help: "add origins: [https://HOST]")
    let nodes = node.flatMap { filledList($0, of: "origins like https://api.example.com") }
    return distinct(nodes) { origin($0) }.map(\.value)
  }

  private func origin(_ node: YAMLNode) -> Origin? {
    guard let origin = url(node, "an origin like https://api.example.com", Origin.init(parsing:)) else { return nil }
    if origin.scheme == .https { return origin }
    return report.error(node.location, "credentials are sent over https only", help: "write https://\(origin.host)")
  }

  private static let schemes = [
    CredentialKey.bearer, .basic, .headers, .oauth2, .login, .digest, .registry, .query, .oauth1,
  ]

  private func scheme(
    _ fields: Fields<CredentialKey>, of draft: inout CredentialDraft, _ others: [CredentialDraft]
  ) -> AuthScheme? {
    let origins = draft.origins
    let keys = Self.schemes.filter { fields.has($0) }
    guard let key = keys.first else {
      // A credential may have only a client certificate.
      if fields.has(.clientCertificate) { return .headers([]) }
      missing(
        Self.schemes, in: fields, "the credential has no secret",
        help:
          "add one of: bearer: { file: NAME }, basic: …, headers: …, oauth2: …, login: …, digest: …, registry: …, query: …, oauth1: …"
      )
      return nil
    }
    guard keys.count == 1 else {
      return report.error(
        fields.location(of: keys[1]),
        "this credential already has \"\(key.rawValue)\", and only one of bearer, basic, headers, oauth2, login, digest, registry, query and oauth1 is allowed"
      )
    }
    switch key {
    case .bearer: return source(.bearer, of: fields, for: .token, to: origins).map { .bearer($0) }
    case .basic: return BasicReader(context: context, origins: origins).scheme(fields)
    case .headers: return HeaderSchemeReader(context: context, origins: origins).scheme(fields)
    case .oauth2: return OAuth2Reader(context: context).scheme(fields, of: &draft)
    case .login: return LoginReader(context: context, others: others).scheme(fields, of: &draft)
    case .digest: return DigestReader(context: context).scheme(fields, of: &draft)
    case .registry: return RegistryReader(context: context).scheme(fields, of: &draft)
    case .query: return QueryReader(context: context, origins: origins).scheme(fields)
    case .oauth1: return OAuth1Reader(context: context, origins: origins, name: draft.name).scheme(fields)
    case .origins, .allowUsers, .allowGroups, .allowClients, .suspend, .clientCertificate, .mode,
      .replayBuffer, .realm, .onChange:
      return nil
    }
  }
}
