internal import Policy
internal import Settings

/// Reads `basic` of a credential: a user and a password (RFC 7617).
struct BasicReader: SectionReader {
  let context: ReadingContext
  let origins: [Origin]

  func scheme(_ credential: Fields<CredentialKey>) -> AuthScheme? {
    guard
      let fields: Fields<BasicKey> = section(
        .basic, of: credential, having: "a user and a password",
        help: "write basic: { user: NAME, password: { file: NAME } }")
    else { return nil }
    let user = userName(.user, of: fields, to: origins, scheme: "Basic")
    guard let node = fields[.password] else {
      if !fields.has(.user) { missingUser(fields) }
      missing([.password], in: fields, "\"basic\" has no password", help: "add password: { file: NAME }")
      return nil
    }
    if node.text == "", !node.isAbsent { return withoutPassword(user, fields) }
    let password = source(.password, of: fields, for: .password(of: user?.plainText), to: origins)
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
  private func withoutPassword(_ user: FieldValue?, _ fields: Fields<BasicKey>) -> AuthScheme? {
    switch user {
    case .secret: return user.map { .basic(user: $0, password: .plain("")) }
    case .plain:
      report.error(
        fields.location(of: .password),
        "the password is empty, so the user name is the secret, and secrets are not allowed in this file",
        help: "put the user name into a file that only the daemon can read, and write user: { file: NAME }")
    case nil:
      required(.user, of: fields, "\"basic\" has no user", help: "add user: { file: NAME }")
    }
    return nil
  }

  private func missingUser(_ fields: Fields<BasicKey>, _ password: SecretSource? = nil) {
    var message = "\"basic\" has no user"
    if case .command(let command) = password, command.format == .execCredential {
      message += ", and exec-credential does not supply one"
    }
    required(.user, of: fields, message, help: "add user: NAME")
  }
}
