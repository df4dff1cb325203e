internal import Policy
import Primitives
internal import Settings

extension SettingsReader {
  func query(_ node: YAMLNode, at location: TextLocation, for origins: [Origin]) -> AuthScheme? {
    guard let fields = fields(node, at: location, of: QueryKey.self) else { return nil }
    guard let nameNode = fields[.name] else {
      missing(.name, in: fields, "the parameter has no name", help: "add name: api_key")
      return nil
    }
    guard let name = text(nameNode, "the name of a parameter") else { return nil }
    guard FieldRules.isParameterName(name) else {
      // The message omits the text, which may have the secret after `=`.
      report.error(
        nameNode.location, "this is not the name of a parameter",
        help: "write only the name, without percent-escapes, as in name: api_key")
      return nil
    }
    guard let value = fields[.value] else {
      missing(.value, in: fields, "the parameter has no value", help: "add value: { file: NAME }")
      return nil
    }
    let use = SecretUse(role: .value, origins: origins)
    return source(value, at: fields.location(of: .value), for: use).map { .query(name: name, value: $0) }
  }

  func oauth1(_ node: YAMLNode, at location: TextLocation, for origins: [Origin]) -> AuthScheme? {
    guard let fields = fields(node, at: location, of: OAuth1Key.self) else { return nil }
    let errors = report.errorCount
    let use = SecretUse(role: .value, origins: origins)
    for key in [OAuth1Key.consumerKey, .consumerSecret] where !fields.has(key) && !fields.isMisspelled(key) {
      report.error(
        fields.location, "\"oauth1\" needs \"\(key.rawValue)\"", help: "add \(key.rawValue): { file: NAME }")
    }
    if fields.has(.token) != fields.has(.tokenSecret) {
      let key = fields.has(.token) ? OAuth1Key.token : .tokenSecret
      report.error(
        fields.location(of: key), "\"token\" and \"token_secret\" must be used together (RFC 5849 section 1.1)")
    }
    let key = fields[.consumerKey].flatMap {
      value($0, at: fields.location(of: .consumerKey), "the consumer key, or { file: NAME }", for: use)
    }
    func secret(_ key: OAuth1Key) -> SecretSource? {
      fields[key].flatMap { source($0, at: fields.location(of: key), for: use) }
    }
    let consumerSecret = secret(.consumerSecret)
    let (token, tokenSecret) = (secret(.token), secret(.tokenSecret))
    let signature = fields[.signature].flatMap {
      choice($0, OAuth1Client.Method.allCases.map { (ASCII.lowercased($0.rawValue), $0) })
    }
    let realm = fields[.realm].flatMap { self.realm($0) }
    guard errors == report.errorCount, let key, let consumerSecret else { return nil }
    var client = OAuth1Client(consumerKey: key, consumerSecret: consumerSecret)
    (client.token, client.tokenSecret, client.realm) = (token, tokenSecret, realm)
    client.method = signature ?? .hmacSHA1
    return .oauth1(client)
  }

  /// Reads a realm without characters that need an escape (RFC 9110 section 5.6.4).
  private func realm(_ node: YAMLNode) -> String? {
    guard let text = text(node, "the name of a realm") else { return nil }
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) else {
      report.error(
        node.location, "the realm has a character that is not allowed: expected printable ASCII without \" and \\")
      return nil
    }
    return text
  }
}

extension AuthScheme {
  /// The query parameters that the credential sets.
  var parameterNames: [String] {
    switch self {
    case .bearer, .basic, .headers, .digest, .registry: []
    case .query(let name, _): [name]
    case .oauth1: OAuth1Client.parameterNames
    case .all(let schemes): schemes.flatMap(\.parameterNames)
    }
  }

  /// The lowercase names of the header fields that the credential sets.
  var fieldNames: [String] {
    switch self {
    case .bearer, .basic, .oauth1, .digest, .registry: ["authorization"]
    case .headers(let headers): headers.map { ASCII.lowercased($0.name) }
    case .query: []
    case .all(let schemes): schemes.flatMap(\.fieldNames)
    }
  }

  /// Whether the credential's value depends on a challenge from the upstream.
  var respondsToChallenges: Bool {
    switch self {
    case .bearer, .basic, .headers, .query, .oauth1: false
    case .digest, .registry: true
    case .all(let schemes): schemes.contains(where: \.respondsToChallenges)
    }
  }

  var signsForms: Bool {
    switch self {
    case .bearer, .basic, .headers, .query, .digest, .registry: false
    case .oauth1(let client): client.method == .hmacSHA1
    case .all(let schemes): schemes.contains(where: \.signsForms)
    }
  }
}

extension Service {
  /// Returns the service, changed so that it removes callers' query parameters that a credential also sets (T13).
  func removingParameters(setBy credentials: [CredentialDraft]) -> Service {
    func names(_ choice: CredentialChoice) -> [String] {
      guard case .inject(let index) = choice, credentials.indices.contains(index) else { return [] }
      return (credentials[index].scheme?.parameterNames ?? []).map(FieldRules.normalizedParameter)
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
