internal import Policy
import Primitives
internal import Settings

extension SettingsReader {
  private static let maxFields = 32
  private static let longestName = 128
  private static let deepestPath = 8

  func login(_ node: YAMLNode, at location: TextLocation, of draft: inout CredentialDraft) -> AuthScheme? {
    guard let fields = fields(node, at: location, of: LoginKey.self) else { return nil }
    let errors = report.errorCount
    let endpoint = loginURL(fields)
    let posted = posted(fields, to: endpoint)
    let result = result(fields)
    guard let endpoint, let (encoding, values) = posted, let result else { return nil }
    var form = LoginForm(encoding: encoding, fields: values, extractedValue: result)
    form.expiresIn = fields[.expiresIn].flatMap { jsonPath($0, "the place of the lifetime in the JSON") }
    if let time = fields[.lifetime].flatMap({ duration($0) }) { form.lifetime = time }
    var login = TokenSource(
      credential: draft.name, endpoint: endpoint, grant: .form(form), client: TokenClient(id: "", authentication: .none)
    )
    login.trust = trust(fields)
    login.allowedAddresses = allowedAddresses(fields)
    if let time = fields[.renewAhead].flatMap({ duration($0, orZero: true) }) { login.lead = time }
    if let time = fields[.skew].flatMap({ duration($0, orZero: true) }) { login.skew = time }
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? LoginKey.replayBufferDefault
    if let time = duration(.timeout, of: fields, "requests have to wait for the login") { login.timeout = time }
    if let node = fields[.refreshOn] { draft.refreshOn = refreshOn(node) }
    let scheme = scheme(login, form, fields)
    return report.errorCount == errors ? scheme : nil
  }

  private func loginURL(_ fields: Fields<LoginKey>) -> Endpoint? {
    guard let node = fields[.url] else {
      missing(
        .url, in: fields, "\"login\" has no url", help: "add url: https://HOST/login"
      )
      return nil
    }
    return endpoint(node, like: "https://db.example.com/_session")
  }

  // MARK: - Request

  private func posted(
    _ fields: Fields<LoginKey>, to endpoint: Endpoint?
  ) -> (LoginForm.Encoding, [LoginForm.Field])? {
    if fields.has(.form), fields.has(.json) {
      report.error(
        fields.location(of: .json), "\"form\" and \"json\" cannot be used together", help: "delete one of the two")
      return nil
    }
    let key: LoginKey = fields.has(.json) ? .json : .form
    guard let node = fields[key] else {
      missing(
        .form, .json, in: fields, "\"login\" has no form or json to send",
        help: "add form: { name: NAME, password: { file: NAME } }, or json: with the same fields")
      return nil
    }
    guard let values = values(node, to: endpoint) else { return nil }
    return (key == .json ? .json : .form, values)
  }

  private func values(_ node: YAMLNode, to endpoint: Endpoint?) -> [LoginForm.Field]? {
    guard case .mapping(let entries) = node.content, !entries.isEmpty else {
      if case .refused = node.content { return nil }
      report.error(
        node.location, "this is not a mapping: expected the fields of the login with their values",
        help: "write { name: NAME, password: { file: NAME } }")
      return nil
    }
    guard entries.count <= Self.maxFields else {
      report.error(node.location, "\(entries.count) fields are too many: at most \(Self.maxFields) are allowed")
      return nil
    }
    let errors = report.errorCount
    let values = entries.compactMap { $0.isRefused ? nil : value($0, to: endpoint) }
    guard report.errorCount == errors else { return nil }
    guard values.contains(where: \.value.isSecret) else {
      report.error(
        node.location, "none of these fields is a secret: everyone who can read this file could log in",
        help: "write password: { file: NAME }")
      return nil
    }
    return values
  }

  private func value(_ entry: YAMLEntry, to endpoint: Endpoint?) -> LoginForm.Field? {
    let isName =
      (1...Self.longestName).contains(entry.name.utf8.count) && entry.name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    guard isName else {
      report.error(
        entry.key.location,
        "the name of a field must have 1 to \(Self.longestName) characters, and no control characters"
      )
      return nil
    }
    let use = SecretUse(role: .value, origins: endpoint.map { [$0.origin] } ?? [])
    guard let value = value(entry.value, at: entry.key.location, "text, or { file: NAME }", for: use) else {
      return nil
    }
    if case .plain(let text) = value {
      if SecretGuess.isOfSecret(entry.name), !text.isEmpty {
        report.error(
          entry.value.location, "secrets are not allowed in this file",
          help: "put the secret into a file that only the daemon can read, and write { file: NAME }")
        return nil
      }
      if SecretGuess.isLikely(text, after: "--" + entry.name) {
        report.warning(entry.value.location, "this looks like a secret, and everyone who can read this file can see it")
      }
    }
    return LoginForm.Field(entry.name, value)
  }

  // MARK: - Response

  private func result(_ fields: Fields<LoginKey>) -> LoginForm.ExtractedValue? {
    switch (fields[.token], fields[.cookie]) {
    case (nil, nil):
      missing(
        .token, .cookie, in: fields, "\"login\" does not say which part of the response is the credential",
        help: "add cookie: NAME, or token: and the place of the token in the JSON, such as data.token")
      return nil
    case (.some, .some):
      report.error(
        fields.location(of: .cookie), "\"token\" and \"cookie\" cannot be used together", help: "delete one of the two")
      return nil
    case (let node?, nil): return jsonPath(node, "the place of the token in the JSON").map { .token($0) }
    case (nil, let node?):
      guard let name = text(node, "the name of a cookie") else { return nil }
      guard FieldRules.isToken(name), name.utf8.count <= Self.longestName else {
        report.error(
          node.location, "this is not the name of a cookie", help: "write only the name, as in cookie: AuthSession")
        return nil
      }
      return .cookie(name)
    }
  }

  /// Reads a path in JSON, such as `data.token` or `tokens.0`.
  func jsonPath(_ node: YAMLNode, _ wanted: String) -> [String]? {
    guard let text = text(node, "\(wanted), like data.token") else { return nil }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard names.allSatisfy({ !$0.isEmpty }), names.count <= Self.deepestPath else {
      report.error(
        node.location, "expected \(wanted), like data.token: at most \(Self.deepestPath) names, separated by dots")
      return nil
    }
    return names
  }

  private func scheme(_ login: TokenSource, _ form: LoginForm, _ fields: Fields<LoginKey>) -> AuthScheme? {
    if let cookie = form.cookie {
      if fields.has(.header) {
        report.error(
          fields.location(of: .header),
          "\"header\" is not allowed with \"cookie\": a cookie is always sent in the Cookie field",
          help: "delete \"header\"")
      }
      return .headers([
        HeaderTemplate(name: "Cookie", prefix: cookie + "=", value: .secret(.token(login)))
      ])
    }
    guard let node = fields[.header] else { return .bearer(.token(login)) }
    guard let header = self.fields(node, at: fields.location(of: .header), of: LoginHeaderKey.self) else { return nil }
    guard let nameNode = header[.name] else {
      missing(.name, in: header, "the header field has no name", help: "add name: X-Auth-Token")
      return nil
    }
    guard let name = fieldName(nameNode, for: .credential) else { return nil }
    guard ASCII.lowercased(name) != "cookie" else {
      report.error(
        nameNode.location, "a token cannot be sent in the Cookie field", help: "write cookie: NAME instead of token")
      return nil
    }
    let prefix = header[.prefix].flatMap { fieldValue($0, "a prefix like \"Token \"", mayEndBlank: true) } ?? ""
    return .headers([HeaderTemplate(name: name, prefix: prefix, value: .secret(.token(login)))])
  }
}

extension SecretGuess {
  /// Whether a login field with this name contains a secret, such as `password`.
  fileprivate static func isOfSecret(_ name: String) -> Bool {
    let words = ASCII.lowercased(name).split { !ASCII.isLetterOrDigit($0.utf8.first ?? 0) }
    return words.contains { word in
      ["password", "passwd", "pass", "pwd", "passphrase", "secret", "pin", "otp", "passcode"].contains(String(word))
        || word.hasSuffix("password")
    }
  }
}
