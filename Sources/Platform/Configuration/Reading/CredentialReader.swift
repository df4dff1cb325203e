internal import Policy
internal import Settings

/// A credential as it was read, perhaps with errors.
struct CredentialDraft {
  let name: String
  let location: TextLocation
  var origins: [Origin] = []
  var originsLocation: TextLocation
  var callers: Callers?
  var clients: [ClientReference] = []
  var scheme: AuthScheme?
  var suspension: Suspension? = Suspension()
  var certificate: ClientCertificateDraft?
  /// Maximum size of a request body to keep for a second attempt, in bytes. `nil` if there is no second attempt.
  var replayBuffer: Int?
  /// Responses that mean an expired token, in addition to 401.
  var refreshOn: [ExpirySigns.Sign] = []
  /// Whether the credential has `mode: challenge`.
  var waitsForChallenge = false
  /// The indices of the credentials in a combined credential.
  var parts: [Int] = []
  var partGrants: [Grant] = []
  /// The location of the scheme, or `nil` if no secret comes from an environment variable.
  var environmentLocation: TextLocation?

  var grant: Grant {
    Grant(
      name: name, origins: origins, callers: callers, fieldNames: fieldNames, replayBuffer: replayBuffer,
      parts: partGrants, signsForms: scheme?.signsForms ?? false, authRetry: authRetry, expiry: expiry,
      cookie: scheme?.login?.form?.cookie)
  }

  private var authRetry: AuthRetryReason {
    switch scheme {
    case .digest(_, _, let hashes): .digest(hashes)
    case .registry(_, let registry): .registry(registry.endpoint)
    case .bearer, .basic: waitsForChallenge ? scheme?.awaitedChallenge.map { .challenged($0) } ?? .expiry : .expiry
    case .headers, .query, .oauth1, .all, nil: .expiry
    }
  }

  /// The responses that mean that the credential has expired.
  private var expiry: ExpirySigns {
    let isInField = if case .headers = scheme { true } else { false }
    return ExpirySigns(acceptsAnyUnauthorized: scheme?.token == nil || isInField, more: refreshOn)
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
    draft.scheme = scheme(fields, of: &draft)
    if let node = fields[.suspend] { draft.suspension = suspension(node, at: fields.location(of: .suspend)) }
    if let buffer = challengeReplayBuffer(fields) {
      draft.waitsForChallenge = true
      if draft.replayBuffer == nil { draft.replayBuffer = buffer }
    }
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

  private func scheme(_ fields: Fields<CredentialKey>, of draft: inout CredentialDraft) -> AuthScheme? {
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
    case .oauth2: return oauth2(node, at: location, of: &draft)
    case .login: return login(node, at: location, of: &draft)
    case .digest: return digest(node, at: location, of: &draft)
    case .registry: return registry(node, at: location, of: &draft)
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
