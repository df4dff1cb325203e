internal import Policy

/// A credential as it was read, perhaps with errors.
struct CredentialDraft {
  let name: String
  let location: TextLocation
  var origins: [Origin] = []
  var originsLocation: TextLocation
  var callers: Callers?
  var clients: [ClientReference] = []
  var scheme: CredentialSettings.Scheme?
  var suspension: Suspension? = Suspension()
  var certificate: ClientCertificateDraft?
  /// Maximum size of a request body to keep for a second attempt, in bytes, or `nil` without `mode: challenge`.
  var challengeReplayBuffer: Int?
  /// The indices of the credentials in a combined credential.
  var parts: [Int] = []
  var partGrants: [Grant] = []
  /// The location of the scheme, or `nil` if no secret comes from an environment variable.
  var environmentLocation: TextLocation?

  var grant: Grant {
    Grant(
      name: name, origins: origins, callers: callers, fieldNames: fieldNames, replayBuffer: replayBuffer,
      parts: partGrants, signsForms: scheme?.signsForms ?? false, authRetry: authRetry, expiry: expiry,
      cookie: scheme?.login?.cookie)
  }

  private var replayBuffer: Int? {
    switch scheme {
    case .digest(let digest): digest.replayBuffer
    case .registry(let registry): registry.replayBuffer
    case .bearer, .basic, .headers, .query, .oauth1, .all, nil:
      scheme?.token?.replayBuffer ?? scheme?.login?.replayBuffer ?? challengeReplayBuffer
    }
  }

  private var authRetry: AuthRetryReason {
    switch scheme {
    case .digest(let digest): .digest(digest.hashes)
    case .registry(let registry): .registry(registry.realm)
    case .bearer, .basic: waitsForChallenge ? scheme?.awaitedChallenge.map { .challenged($0) } ?? .expiry : .expiry
    case .headers, .query, .oauth1, .all, nil: .expiry
    }
  }

  var waitsForChallenge: Bool { challengeReplayBuffer != nil }

  /// The responses that mean that the credential has expired.
  private var expiry: ExpirySigns {
    if let token = scheme?.token { return ExpirySigns(more: token.refreshOn) }
    if case .bearer(.login(let login)) = scheme { return ExpirySigns(more: login.refreshOn) }
    return ExpirySigns(acceptsAnyUnauthorized: true, more: scheme?.login?.refreshOn ?? [])
  }

  var settings: CredentialSettings? {
    scheme.map {
      CredentialSettings(
        name: name, scheme: $0, suspension: suspension, line: location.line, certificate: certificate?.settings)
    }
  }

  var fieldNames: [String] {
    scheme?.fieldNames ?? []
  }
}

extension SettingsReader {
  func credentials(_ top: Fields<TopKey>) -> [CredentialDraft] {
    guard let node = top[.credentials] else { return [] }
    return named(node, "a credential").map { credential($0) }
  }

  private func credential(_ named: Named) -> CredentialDraft {
    var draft = CredentialDraft(name: named.name, location: named.location, originsLocation: named.location)
    if named.name == "none" || named.name == "pass" {
      report.error(
        named.location, "\"\(named.name)\" is reserved and cannot be the name of a credential",
        help: "choose another name")
    }
    guard let fields = fields(named.value, at: named.location, of: CredentialKey.self) else { return draft }
    draft.originsLocation = fields.location(of: .origins)
    draft.origins = origins(fields)
    let clients = fields[.allowClients].map { clientReferences($0) }
    draft.clients = clients ?? []
    draft.callers = callers(users: fields[.allowUsers], groups: fields[.allowGroups], clients: clients)
    draft.certificate = fields[.clientCertificate].flatMap {
      clientCertificate($0, at: fields.location(of: .clientCertificate))
    }
    draft.scheme = scheme(fields, of: draft)
    if let node = fields[.suspend] { draft.suspension = suspension(node, at: fields.location(of: .suspend)) }
    draft.challengeReplayBuffer = challengeReplayBuffer(fields)
    draft.environmentLocation = draft.scheme?.usesEnvironment == true ? schemeLocation(fields) : nil
    return draft
  }

  private func origins(_ fields: Fields<CredentialKey>) -> [Origin] {
    guard let node = fields[.origins] else {
      missing(
        .origins, in: fields,
        "the credential has no origins: bearerd sends a credential only to the origins that it lists",
        help: "add origins: [https://HOST]")
      return []
    }
    var origins: [Origin] = []
    var seen: Set<Origin> = []
    for node in filledList(node, of: "origins like https://api.example.com") ?? [] {
      guard let origin = origin(node) else { continue }
      if seen.insert(origin).inserted {
        origins.append(origin)
      } else {
        report.error(node.location, "\(origin) is listed twice")
      }
    }
    return origins
  }

  private func origin(_ node: YAMLNode) -> Origin? {
    guard let text = text(node, "an origin like https://api.example.com"), checkURL(text, at: node.location) else {
      return nil
    }
    do throws(PolicySyntaxError) {
      let origin = try Origin(parsing: text)
      if origin.scheme == .https { return origin }
      report.error(node.location, "credentials are sent over https only", help: "write https://\(origin.host)")
    } catch {
      report.error(node.location, error.message)
    }
    return nil
  }

  private static let schemes = [
    CredentialKey.bearer, .basic, .headers, .oauth2, .login, .digest, .registry, .query, .oauth1,
  ]

  private func scheme(_ fields: Fields<CredentialKey>, of draft: CredentialDraft) -> CredentialSettings.Scheme? {
    let origins = draft.origins
    let keys = Self.schemes.filter { fields.has($0) }
    guard let key = keys.first, let node = fields[key] else {
      // A credential may have only a client certificate.
      if fields.has(.clientCertificate) { return .headers([]) }
      missing(
        .bearer, .basic, .headers, .oauth2, .login, .digest, .registry, .query, .oauth1, in: fields,
        "the credential has no secret",
        help:
          "add one of: bearer: { file: NAME }, basic: …, headers: …, oauth2: …, login: …, digest: …, registry: …, query: …, oauth1: …"
      )
      return nil
    }
    guard keys.count == 1 else {
      report.error(
        fields.location(of: keys[1]),
        "this credential already has \"\(key.rawValue)\", and only one of bearer, basic, headers, oauth2, login, digest, registry, query and oauth1 is allowed"
      )
      return nil
    }
    let location = fields.location(of: key)
    switch key {
    case .bearer: return source(node, at: location, for: SecretUse(role: .token, origins: origins)).map { .bearer($0) }
    case .basic: return basic(node, at: location, for: origins)
    case .headers: return headers(node, for: origins)
    case .oauth2: return oauth2(node, at: location, of: draft)
    case .login: return login(node, at: location, of: draft.name)
    case .digest: return digest(node, at: location, for: origins)
    case .registry: return registry(node, at: location, of: draft.name)
    case .query: return query(node, at: location, for: origins)
    case .oauth1: return oauth1(node, at: location, for: origins)
    case .origins, .allowUsers, .allowGroups, .allowClients, .suspend, .clientCertificate, .mode,
      .replayBuffer:
      return nil
    }
  }

  private func schemeLocation(_ fields: Fields<CredentialKey>) -> TextLocation {
    let key = Self.schemes.first { fields.has($0) }
    return key.map { fields.location(of: $0) } ?? fields.location
  }
}

extension CredentialSettings.Scheme {
  var usesEnvironment: Bool {
    switch self {
    case .bearer(let source): source.isEnvironment
    case .basic(let user, let password): user.isEnvironment || password.isEnvironment
    case .headers(let headers): headers.contains { $0.value.isEnvironment }
    case .digest(let digest): digest.user.isEnvironment || digest.password.isEnvironment
    case .registry(let registry): registry.user?.isEnvironment == true || registry.password?.isEnvironment == true
    case .query(_, let value): value.isEnvironment
    case .oauth1(let client): client.secrets.contains(where: \.isEnvironment)
    case .all(let schemes): schemes.contains(where: \.usesEnvironment)
    }
  }
}

extension CredentialSettings.Source {
  fileprivate var isEnvironment: Bool {
    switch self {
    case .env: true
    case .token(let token): token.secrets.contains(where: \.isEnvironment)
    case .login(let login): login.secrets.contains(where: \.isEnvironment)
    case .file, .systemd, .command, .userOfCommand: false
    }
  }
}

extension CredentialSettings.Value {
  fileprivate var isEnvironment: Bool {
    switch self {
    case .plain: false
    case .secret(let source): source.isEnvironment
    }
  }
}
