internal import Policy
internal import Settings

/// Reads `basic` of a credential: a user and a password (RFC 7617).
extension SettingsReader {
  func basic(_ node: YAMLNode, at location: TextLocation, for origins: [Origin]) -> AuthScheme? {
    if case .mapping = node.content {
    } else {
      report.error(
        node.location, "\"basic\" must be a mapping with a user and a password",
        help: "write basic: { user: NAME, password: { file: NAME } }")
      return nil
    }
    guard let fields = fields(node, at: location, of: BasicKey.self) else { return nil }
    let user = fields[.user].flatMap { self.user($0, at: fields.location(of: .user), for: origins) }
    guard let node = fields[.password] else {
      if !fields.has(.user) { missingUser(fields) }
      missing(.password, in: fields, "\"basic\" has no password", help: "add password: { file: NAME }")
      return nil
    }
    if node.text == "", !node.isAbsent { return withoutPassword(user, fields) }
    let use = SecretUse(role: .password(of: user?.plainText), origins: origins)
    let password = source(node, at: fields.location(of: .password), for: use)
    guard !fields.has(.user) else {
      guard let user, let password else { return nil }
      return .basic(user: user, password: .secret(password))
    }
    if case .command(let command) = password, command.format.providesUserName {
      return .basic(user: .secret(.userOfCommand(command)), password: .secret(.command(command)))
    }
    missingUser(fields, password)
    return nil
  }

  /// Reads a user with an empty password, where the user name is the secret.
  private func withoutPassword(
    _ user: FieldValue?, _ fields: Fields<BasicKey>
  ) -> AuthScheme? {
    switch user {
    case .secret: return user.map { .basic(user: $0, password: .plain("")) }
    case .plain:
      report.error(
        fields.location(of: .password),
        "the password is empty, so the user name is the secret, and secrets are not allowed in this file",
        help: "put the user name into a file that only the daemon can read, and write user: { file: NAME }")
    case nil:
      if !fields.has(.user) {
        missing(.user, in: fields, "\"basic\" has no user", help: "add user: { file: NAME }")
      }
    }
    return nil
  }

  private func missingUser(_ fields: Fields<BasicKey>, _ password: SecretSource? = nil) {
    if case .command(let command) = password, command.format == .execCredential {
      return missing(
        .user, in: fields, "\"basic\" has no user, and exec-credential does not supply one", help: "add user: NAME")
    }
    missing(.user, in: fields, "\"basic\" has no user", help: "add user: NAME")
  }

  /// Reads the user name (RFC 7617 §2).
  private func user(_ node: YAMLNode, at location: TextLocation, for origins: [Origin]) -> FieldValue? {
    let use = SecretUse(role: .user, origins: origins)
    let user = value(node, at: location, "a user name, or { file: NAME }", for: use)
    if case .plain(let text) = user, text.contains(":") {
      report.error(node.location, "the user name has a colon, which Basic does not allow")
    }
    return user
  }
}
