internal import Policy
internal import Settings

/// Finds the parts of a configuration that messages must not show, because they may be secrets.
struct SecretMask {
  private var hidden: [MaskedRange] = []
  /// The valid values of `credential:`.
  private var credentialNames = ["none", "pass"]
  /// Number of misspelled keys that may still be compared with all known keys.
  private var guessesLeft = Report.maxErrors

  static func maskedRanges(in root: YAMLNode) -> [MaskedRange] {
    var mask = SecretMask()
    mask.visitTop(root)
    return mask.hidden
  }

  private mutating func visitTop(_ root: YAMLNode) {
    guard case .mapping(let entries) = root.content else { return hide(root) }
    for entry in entries where entry.name == TopKey.credentials.rawValue {
      guard case .mapping(let credentials) = entry.value.content else { continue }
      credentialNames += credentials.map(\.name)
    }
    for entry in entries {
      switch TopKey(rawValue: entry.name) {
      case .credentials:
        named(entry.value, guesses: false)
      case .listeners, .services, .pinPolicies:
        named(entry.value, guesses: true)
      case .include, .limits, .timeouts, .requireLockedMemory, .control, .metrics, .audit, .reports, .workers:
        visit(entry.value, under: entry.name, guesses: true)
      case nil:
        hide(entry.value)
        if !SchemaWords.isPresentable(entry) { hidden.append(entry.key.range) }
      }
    }
  }

  private mutating func named(_ node: YAMLNode, guesses: Bool) {
    guard case .mapping(let entries) = node.content else { return hide(node) }
    for entry in entries { visit(entry.value, under: nil, guesses: guesses) }
  }

  /// Masks the possible secrets in a node, and with `guesses` treats a misspelled key as the most similar known key.
  private mutating func visit(_ node: YAMLNode, under key: String?, guesses: Bool) {
    switch node.content {
    case .scalar(let text, _):
      if isSecret(text, under: key) { hidden.append(node.range) }
    case .sequence(let nodes):
      if key == SourceKey.command.rawValue { return hideArguments(nodes) }
      for node in nodes { visit(node, under: key, guesses: guesses) }
    case .mapping(let entries):
      for entry in entries {
        if entry.key.text == nil { hide(entry.key) }
        if key == ListenerKey.clients.rawValue {
          visit(entry.value, under: key, guesses: false)
          if !Named.isName(entry.name) || entry.name.hasPrefix(ClientToken.prefix) {
            hidden.append(entry.key.range)
          }
        } else if key == LoginKey.form.rawValue || key == LoginKey.json.rawValue {
          visitField(entry)
        } else if key == OAuth2Key.parameters.rawValue, case .mapping = entry.value.content {
          visitField(entry)
        } else if key == OAuth2Key.headers.rawValue, HeaderKey(rawValue: entry.name) == nil {
          // The mapping of `oauth2` and `login`. A credential has a list.
          visitField(entry)
        } else if key == ServiceKey.setHeaders.rawValue {
          hide(entry.value)
          if entry.value.isAbsent || !FieldRules.isToken(entry.name) { hidden.append(entry.key.range) }
        } else if let word = word(entry.name, guesses: guesses) {
          visit(entry.value, under: word, guesses: guesses)
        } else {
          hide(entry.value)
          if Self.expectsSource(key) || !SchemaWords.isPresentable(entry) { hidden.append(entry.key.range) }
        }
      }
    case .refused: break
    }
  }

  /// Masks the value of a login field, unless it names the source of a secret.
  private mutating func visitField(_ entry: YAMLEntry) {
    switch entry.value.content {
    case .mapping: visit(entry.value, under: HeaderKey.value.rawValue, guesses: false)
    case .scalar, .sequence, .refused: hide(entry.value)
    }
    if !SchemaWords.isPresentable(entry) { hidden.append(entry.key.range) }
  }

  private mutating func word(_ key: String, guesses: Bool) -> String? {
    if SchemaWords.all.contains(key) { return key }
    guard guesses, guessesLeft > 0 else { return nil }
    guessesLeft -= 1
    return Suggestion.nearest(to: key, in: SchemaWords.sorted)
  }

  private func isSecret(_ text: String, under key: String?) -> Bool {
    switch key {
    case nil: true
    case let key where Self.expectsSource(key): true
    case LoginKey.form.rawValue, LoginKey.json.rawValue, CredentialKey.login.rawValue: true
    case LoginKey.cookie.rawValue: !FieldRules.isToken(text)
    case CredentialKey.oauth2.rawValue, OAuth2Key.parameters.rawValue, OAuth2Key.claims.rawValue: true
    case ListenerKey.clients.rawValue: TokenDigest(parsing: text) == nil
    // A token instead of a client's name.
    case CredentialKey.allowClients.rawValue: text.utf8.count > 32 || text.hasPrefix(ClientToken.prefix)
    case CredentialKey.clientCertificate.rawValue, CredentialKey.query.rawValue, CredentialKey.oauth1.rawValue: true
    // Usually not a secret, but easily confused with its neighbors, which are secrets.
    case OAuth1Key.consumerKey.rawValue: true
    // A certificate's text, perhaps with the private key, instead of a path.
    case ClientCertificateKey.certificate.rawValue: text.contains("-----")
    // A token instead of a credential's name.
    case ServiceKey.credential.rawValue, SourceKey.tokenOf.rawValue:
      Suggestion.nearest(to: text, in: credentialNames) == nil
    case HeaderKey.prefix.rawValue: true
    case HeaderKey.name.rawValue: !FieldRules.isToken(text)
    // A parameter with its value.
    case ServiceKey.removeParameters.rawValue: !FieldRules.isParameterName(text)
    // A user name with its password.
    case BasicKey.user.rawValue, SourceKey.username.rawValue: text.utf8.contains(UInt8(ascii: ":"))
    case SourceKey.server.rawValue: !text.contains(".") || text.utf8.count > 64 || Self.hasPrivatePart(text)
    case SourceKey.systemd.rawValue: !SourceName.isCredential(text)
    case SourceKey.env.rawValue, EnvironmentKey.pass.rawValue: !SourceName.isVariable(text)
    case SourceKey.environment.rawValue: true
    // `https://user:password@host/?api_key=…`
    case ServiceKey.upstream.rawValue, CredentialKey.origins.rawValue, SourceKey.url.rawValue,
      OAuth2Key.tokenURL.rawValue, OAuth2Key.revocationURL.rawValue, RegistryKey.realm.rawValue:
      Self.hasPrivatePart(text)
    case ServiceKey.serverName.rawValue: text.contains { "@?#".contains($0) }
    // A misspelled `Authorization` may count as this key, and its value may be a secret.
    case OAuth2Key.authorizationURL.rawValue, OAuth2Key.deviceAuthorizationURL.rawValue:
      !text.contains("://") || Self.hasPrivatePart(text)
    default: text.contains("://") && Self.hasPrivatePart(text)
    }
  }

  /// Masks the words of a command, except an absolute path at the beginning.
  private mutating func hideArguments(_ words: [YAMLNode]) {
    let isPath = words.first?.text?.hasPrefix("/") == true
    for word in words.dropFirst(isPath ? 1 : 0) { hide(word) }
  }

  private static func hasPrivatePart(_ url: String) -> Bool { URLCheck(url) != .fine }

  private static func expectsSource(_ key: String?) -> Bool {
    switch key {
    case CredentialKey.bearer.rawValue, CredentialKey.basic.rawValue, CredentialKey.headers.rawValue,
      CredentialKey.digest.rawValue, CredentialKey.registry.rawValue,
      BasicKey.password.rawValue, HeaderKey.value.rawValue, SourceKey.command.rawValue,
      OAuth2Key.clientSecret.rawValue, OAuth2Key.privateKey.rawValue, OAuth2Key.refreshToken.rawValue,
      OAuth2Key.passphrase.rawValue, OAuth2Key.subjectToken.rawValue, OAuth2Key.actorToken.rawValue,
      OAuth1Key.consumerSecret.rawValue, OAuth1Key.tokenSecret.rawValue:
      true
    // A token of OAuth 1, or a token instead of its path in the response to a login.
    case OAuth1Key.token.rawValue: true
    default: false
    }
  }

  private mutating func hide(_ node: YAMLNode) {
    switch node.content {
    case .scalar: hidden.append(node.range)
    case .sequence(let nodes): for node in nodes { hide(node) }
    case .mapping(let entries):
      for entry in entries {
        hide(entry.key)
        hide(entry.value)
      }
    case .refused: break
    }
  }
}
