internal import Policy
import Primitives
internal import Settings

/// Reads `login` of a credential: a request with user name and password that returns a token or a cookie.
struct LoginReader: SectionReader {
  let context: ReadingContext
  /// The credentials that are not logins, for `token_of`.
  var others: [CredentialDraft] = []

  private static let maxFields = 32
  private static let longestName = 128

  func scheme(_ credential: Fields<CredentialKey>, of draft: inout CredentialDraft) -> AuthScheme? {
    guard let fields = section(.login, of: credential, as: LoginKey.self) else { return nil }
    let errors = report.errorCount
    required(.url, of: fields, "\"login\" has no url", help: "add url: https://HOST/login")
    let endpoint = endpointWithQuery(.url, of: fields, like: "https://db.example.com/_session")
    let posted = posted(fields, to: endpoint)
    let result = result(fields)
    guard let endpoint, let (encoding, values) = posted, let result else { return nil }
    var form = LoginForm(encoding: encoding, fields: values, extractedValue: result)
    form.expiresIn = fields[.expiresIn].flatMap { jsonPath($0, "the place of the lifetime in the JSON") }
    form.lifetime = duration(.lifetime, of: fields)
    var login = TokenSource(
      credential: draft.name, endpoint: endpoint, grant: .form(form), client: TokenClient(id: "", authentication: .none)
    )
    let trust = TrustReader(context: context, fields: fields)
    (login.trust, login.allowedAddresses) = (trust.trust(for: endpoint.origin.host), trust.allowedAddresses())
    login.headers = RequestHeadersReader(context: context, origins: [endpoint.origin]).fields(fields[.headers])
    login.lead = duration(.renewAhead, of: fields) ?? login.lead
    login.skew = duration(.skew, of: fields) ?? login.skew
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? LoginKey.replayBufferDefault
    login.timeout = duration(.timeout, of: fields, "requests have to wait for the login") ?? login.timeout
    if let node = fields[.refreshOn] { draft.refreshOn = RefreshOnReader(context: context).signs(node) }
    let scheme = scheme(login, form, fields)
    return report.errorCount == errors ? scheme : nil
  }

  // MARK: - Request

  private func posted(
    _ fields: Fields<LoginKey>, to endpoint: Endpoint?
  ) -> (LoginForm.Encoding, [LoginForm.Field])? {
    if fields.has(.form), fields.has(.json) {
      return report.error(
        fields.location(of: .json), "\"form\" and \"json\" cannot be used together", help: "delete one of the two")
    }
    let key: LoginKey = fields.has(.json) ? .json : .form
    guard let node = fields[key] else {
      missing(
        [.form, .json], in: fields, "\"login\" has no form or json to send",
        help: "add form: { name: NAME, password: { file: NAME } }, or json: with the same fields")
      return nil
    }
    guard let values = values(node, to: endpoint) else { return nil }
    return (key == .json ? .json : .form, values)
  }

  private func values(_ node: YAMLNode, to endpoint: Endpoint?) -> [LoginForm.Field]? {
    guard case .mapping(let entries) = node.content, !entries.isEmpty else {
      if case .refused = node.content { return nil }
      return report.error(
        node.location, "this is not a mapping: expected the fields of the login with their values",
        help: "write { name: NAME, password: { file: NAME } }")
    }
    guard entries.count <= Self.maxFields else {
      return report.error(node.location, "\(entries.count) fields are too many: at most \(Self.maxFields) are allowed")
    }
    let errors = report.errorCount
    let values = entries.compactMap { $0.isRefused ? nil : value($0, to: endpoint) }
    guard report.errorCount == errors, values.count == entries.count else { return nil }
    let tokens = values.indices.filter { if case .secret(.token) = values[$0].value { true } else { false } }
    guard tokens.count < 2 else {
      return report.error(
        entries[tokens[1]].key.location, "only one field of a login can have \"token_of\"", help: "delete the line")
    }
    guard values.contains(where: \.value.isSecret) else {
      return report.error(
        node.location, "none of these fields is a secret: everyone who can read this file could log in",
        help: "write password: { file: NAME }")
    }
    return values
  }

  private func value(_ entry: YAMLEntry, to endpoint: Endpoint?) -> LoginForm.Field? {
    let isName =
      (1...Self.longestName).contains(entry.name.utf8.count) && entry.name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    guard isName else {
      return report.error(
        entry.key.location,
        "the name of a field must have 1 to \(Self.longestName) characters, and no control characters"
      )
    }
    if case .mapping(let keys) = entry.value.content, keys.count == 1, keys[0].name == SourceKey.tokenOf.rawValue {
      return token(of: keys[0].value, to: endpoint).map { LoginForm.Field(entry.name, .secret(.token($0))) }
    }
    let use = SecretUse(role: .value, origins: endpoint.map { [$0.origin] } ?? [])
    return SourceReader(context: context, use: use).field(entry.name, entry.value, at: entry.key.location)
  }

  /// Reads `token_of`: the name of an OAuth credential whose token may be sent to the login URL.
  private func token(of node: YAMLNode, to endpoint: Endpoint?) -> TokenSource? {
    guard let name = text(node, "the name of a credential with oauth2") else { return nil }
    guard let other = others.first(where: { $0.name == name }) else {
      let help = Suggestion.nearest(to: name, in: others.map(\.name)).map { "did you mean \"\($0)\"?" }
      return report.error(
        node.location, "this is not the name of a credential with \"oauth2\", whose token the login could send",
        help: help ?? "write the name of a credential with oauth2. A login cannot use the token of a login")
    }
    // The credential has errors of its own.
    guard let scheme = other.scheme else { return nil }
    guard case .bearer(.token(let token)) = scheme else {
      return report.error(
        node.location, "credential \"\(name)\" has no \"oauth2\", and only an OAuth token can be a field of a login",
        help: "write { file: NAME } for another secret")
    }
    guard let endpoint else { return nil }
    guard other.grant.allows(endpoint.origin) else {
      return report.error(
        node.location, "the token of credential \"\(name)\" must not be sent to \(endpoint.origin)",
        help: "if it may get this token, add \(endpoint.origin) to origins of credential \"\(name)\"")
    }
    return token
  }

  // MARK: - Response

  private func result(_ fields: Fields<LoginKey>) -> LoginForm.ExtractedValue? {
    switch (fields[.token], fields[.cookie]) {
    case (nil, nil):
      missing(
        [.token, .cookie], in: fields, "\"login\" does not say which part of the response is the credential",
        help: "add cookie: NAME, or token: and the place of the token in the JSON, such as data.token")
      return nil
    case (.some, .some):
      return report.error(
        fields.location(of: .cookie), "\"token\" and \"cookie\" cannot be used together", help: "delete one of the two")
    case (let node?, nil): return jsonPath(node, "the place of the token in the JSON").map { .token($0) }
    case (nil, let node?):
      guard let name = text(node, "the name of a cookie") else { return nil }
      guard FieldRules.isToken(name), name.utf8.count <= Self.longestName else {
        return report.error(
          node.location, "this is not the name of a cookie", help: "write only the name, as in cookie: AuthSession")
      }
      return .cookie(name)
    }
  }

  private func scheme(_ login: TokenSource, _ form: LoginForm, _ fields: Fields<LoginKey>) -> AuthScheme? {
    if let cookie = form.cookie {
      if fields.has(.header) {
        report.error(
          fields.location(of: .header),
          "\"header\" is not allowed with \"cookie\": a cookie is always sent in the Cookie field",
          help: "delete \"header\"")
      }
      return .headers([HeaderTemplate(name: "Cookie", prefix: cookie + "=", value: .secret(.token(login)))])
    }
    guard fields.has(.header) else { return .bearer(.token(login)) }
    let field = HeaderFieldReader(context: context)
    guard let header = section(.header, of: fields, as: LoginHeaderKey.self),
      let nameNode = required(.name, of: header, "the header field has no name", help: "add name: X-Auth-Token"),
      let name = field.name(nameNode, for: .credential)
    else { return nil }
    guard ASCII.lowercased(name) != "cookie" else {
      return report.error(
        nameNode.location, "a token cannot be sent in the Cookie field", help: "write cookie: NAME instead of token")
    }
    let prefix = header[.prefix].flatMap { field.value($0, "a prefix like \"Token \"", mayEndBlank: true) } ?? ""
    return .headers([HeaderTemplate(name: name, prefix: prefix, value: .secret(.token(login)))])
  }
}
