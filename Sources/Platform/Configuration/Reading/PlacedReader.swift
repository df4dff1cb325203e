internal import Policy
import Primitives

extension CredentialSettings {
  /// Who signs requests (RFC 5849): names and paths, no secret.
  package struct OAuth1: Sendable, Equatable {
    package enum Signature: String, Sendable, CaseIterable { case hmacSHA1 = "hmac-sha1", plaintext }

    package var signature = Signature.hmacSHA1
    package let consumerKey: Value
    package let consumerSecret: Source
    /// nil: the client asks for itself.
    package var token: Source?
    package var tokenSecret: Source?
    package var realm: String?

    /// In the order of the file.
    package var secrets: [Source] {
      var key: Source?
      if case .secret(let source) = consumerKey { key = source }
      return [key, consumerSecret, token, tokenSecret].compactMap(\.self)
    }

    /// Parameters that sign: the app's own would be a second signature (section 3.2).
    static let parameterNames = [
      "oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp",
      "oauth_nonce",
      "oauth_version",
    ]
  }
}

/// Credentials that are written elsewhere than into a field: `query` and `oauth1`.
extension SettingsReader {
  func query(_ node: YAMLNode, at place: TextLocation, for origins: [Origin]) -> CredentialSettings.Scheme? {
    guard let fields = fields(node, at: place, of: QueryKey.self) else { return nil }
    guard let nameNode = fields[.name] else {
      missing(.name, in: fields, "the parameter has no name", help: "add name: api_key")
      return nil
    }
    guard let name = text(nameNode, "the name of a parameter") else { return nil }
    guard FieldRules.isParameterName(name) else {
      // Not repeated: behind a = there could be the secret.
      report.error(
        nameNode.place, "this is not the name of a parameter",
        help: "write only the name, without percent-escapes, as in name: api_key")
      return nil
    }
    guard let value = fields[.value] else {
      missing(.value, in: fields, "the parameter has no value", help: "add value: { file: NAME }")
      return nil
    }
    let use = SecretUse(role: .value, origins: origins)
    return source(value, at: fields.place(of: .value), for: use).map { .query(name: name, value: $0) }
  }

  func oauth1(_ node: YAMLNode, at place: TextLocation, for origins: [Origin]) -> CredentialSettings.Scheme? {
    guard let fields = fields(node, at: place, of: OAuth1Key.self) else { return nil }
    let errors = report.errorCount
    let use = SecretUse(role: .value, origins: origins)
    for key in [OAuth1Key.consumerKey, .consumerSecret] where !fields.has(key) && !fields.isMisspelt(key) {
      report.error(
        fields.place, "\"oauth1\" needs \"\(key.rawValue)\"", help: "add \(key.rawValue): { file: NAME }")
    }
    if fields.has(.token) != fields.has(.tokenSecret) {
      let key = fields.has(.token) ? OAuth1Key.token : .tokenSecret
      report.error(fields.place(of: key), "\"token\" and \"token_secret\" must be used together (RFC 5849 section 1.1)")
    }
    let key = fields[.consumerKey].flatMap {
      value($0, at: fields.place(of: .consumerKey), "the consumer key, or { file: NAME }", for: use)
    }
    func secret(_ key: OAuth1Key) -> CredentialSettings.Source? {
      fields[key].flatMap { source($0, at: fields.place(of: key), for: use) }
    }
    let consumerSecret = secret(.consumerSecret)
    let (token, tokenSecret) = (secret(.token), secret(.tokenSecret))
    let signature = fields[.signature].flatMap {
      choice($0, CredentialSettings.OAuth1.Signature.allCases.map { ($0.rawValue, $0) })
    }
    let realm = fields[.realm].flatMap { self.realm($0) }
    guard errors == report.errorCount, let key, let consumerSecret else { return nil }
    var client = CredentialSettings.OAuth1(consumerKey: key, consumerSecret: consumerSecret)
    (client.token, client.tokenSecret, client.realm) = (token, tokenSecret, realm)
    client.signature = signature ?? .hmacSHA1
    return .oauth1(client)
  }

  /// RFC 9110 section 5.6.4, without what would have to be quoted.
  private func realm(_ node: YAMLNode) -> String? {
    guard let text = text(node, "the name of a realm") else { return nil }
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) else {
      report.error(
        node.place, "the realm has a character that is not allowed: expected printable ASCII without \" and \\")
      return nil
    }
    return text
  }
}

extension CredentialSettings.Scheme {
  /// Names in the query that are set by it: the app's own never go on beside them.
  var parameterNames: [String] {
    switch self {
    case .bearer, .basic, .headers, .digest, .registry: []
    case .query(let name, _): [name]
    case .oauth1: CredentialSettings.OAuth1.parameterNames
    case .all(let schemes): schemes.flatMap(\.parameterNames)
    }
  }

  /// Lower-case.
  var fieldNames: [String] {
    switch self {
    case .bearer, .basic, .oauth1, .digest, .registry: ["authorization"]
    case .headers(let headers): headers.map { ASCII.lowercased($0.name) }
    case .query: []
    case .all(let schemes): schemes.flatMap(\.fieldNames)
    }
  }

  /// The text that it writes depends on what the upstream has asked for.
  var answersChallenges: Bool {
    switch self {
    case .bearer, .basic, .headers, .query, .oauth1: false
    case .digest, .registry: true
    case .all(let schemes): schemes.contains(where: \.answersChallenges)
    }
  }

  var signsForms: Bool {
    switch self {
    case .bearer, .basic, .headers, .query, .digest, .registry: false
    case .oauth1(let client): client.signature == .hmacSHA1
    case .all(let schemes): schemes.contains(where: \.signsForms)
    }
  }
}

extension Service {
  /// The service, but that of a query nothing goes on which the credential writes there (T13).
  func withoutPlacedParameters(of credentials: [CredentialDraft]) -> Service {
    func names(_ choice: CredentialChoice) -> [String] {
      guard case .inject(let index) = choice, credentials.indices.contains(index) else { return [] }
      return (credentials[index].scheme?.parameterNames ?? []).map(FieldRules.normalisedParameter)
    }
    func adding(_ names: [String], to headers: HeaderPolicy) -> HeaderPolicy {
      var headers = headers
      for name in names where !headers.removeParameters.contains(name) { headers.removeParameters.append(name) }
      return headers
    }
    var service = self
    service.headers = adding(names(credential), to: headers)
    service.rules = rules?.map { rule in
      guard case .forward(let choice) = rule.action, case let names = names(choice), !names.isEmpty else { return rule }
      return Rule(
        pattern: rule.pattern, methods: rule.methods, action: rule.action, headers: adding(names, to: rule.headers),
        description: rule.description, line: rule.line, rate: rule.rate)
    }
    return service
  }
}
