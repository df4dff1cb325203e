internal import Policy
internal import Settings

/// Reads `digest` of a credential: a user and a password (RFC 7616).
extension SettingsReader {
  func digest(_ node: YAMLNode, at location: TextLocation, of draft: inout CredentialDraft) -> AuthScheme? {
    guard case .mapping = node.content else {
      report.error(
        node.location, "\"digest\" must be a mapping with a user and a password",
        help: "write digest: { user: NAME, password: { file: NAME } }")
      return nil
    }
    guard let fields = fields(node, at: location, of: DigestKey.self) else { return nil }
    let errors = report.errorCount
    let origins = draft.origins
    let user = digestUser(fields, origins)
    let hashes = fields[.algorithms].flatMap { digestHashes($0) }
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? DigestKey.replayBufferDefault
    guard let node = fields[.password] else {
      missing(.password, in: fields, "\"digest\" has no password", help: "add password: { file: NAME }")
      return nil
    }
    let use = SecretUse(role: .password(of: user?.plainText), origins: origins)
    guard let password = source(node, at: fields.location(of: .password), for: use), let user,
      report.errorCount == errors
    else { return nil }
    return .digest(user: user, password: password, hashes: hashes ?? Set(DigestHash.allCases))
  }

  /// Reads the user name, which must not contain a colon (RFC 7616 section 3.4.2).
  private func digestUser(_ fields: Fields<DigestKey>, _ origins: [Origin]) -> FieldValue? {
    guard let node = fields[.user] else {
      missing(.user, in: fields, "\"digest\" has no user", help: "add user: NAME")
      return nil
    }
    let use = SecretUse(role: .user, origins: origins)
    let user = value(node, at: fields.location(of: .user), "a user name, or { file: NAME }", for: use)
    if case .plain(let text) = user, text.contains(":") {
      report.error(node.location, "the user name has a colon, which Digest does not allow")
    }
    return user
  }

  private func digestHashes(_ node: YAMLNode) -> Set<DigestHash>? {
    let words = DigestHash.allCases.map { ($0.rawValue, $0) }
    guard let nodes = filledList(node, of: "algorithms: MD5, SHA-256, SHA-512-256") else { return nil }
    var hashes: Set<DigestHash> = []
    for node in nodes {
      guard let hash = choice(node, words) else { continue }
      if !hashes.insert(hash).inserted { report.error(node.location, "\(hash.rawValue) is listed twice") }
    }
    return hashes
  }
}
