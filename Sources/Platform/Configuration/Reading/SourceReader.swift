internal import Policy
import Primitives
internal import Settings

struct SecretUse {
  enum Role: Equatable {
    case token, user, value
    /// The password of this user, or of an unknown user if `nil`.
    case password(of: String?)
  }
  let role: Role
  /// The origins to which the secret may be sent.
  let origins: [Origin]

  /// The user of a password, or `nil` if unknown.
  var user: String? {
    if case .password(let user) = role { user } else { nil }
  }
}

extension SectionReader {
  /// Reads the source of a secret that may be sent only to `origins`.
  func source<Key: ConfigurationKey>(
    _ key: Key, of fields: Fields<Key>, for role: SecretUse.Role, to origins: [Origin]
  ) -> SecretSource? {
    let reader = SourceReader(context: context, use: SecretUse(role: role, origins: origins))
    return fields[key].flatMap { reader.source($0, at: fields.location(of: key)) }
  }

  /// Reads a value that may be public: plain text, or the source of a secret.
  func value<Key: ConfigurationKey>(
    _ key: Key, of fields: Fields<Key>, _ wanted: String, for role: SecretUse.Role, to origins: [Origin]
  ) -> FieldValue? {
    let reader = SourceReader(context: context, use: SecretUse(role: role, origins: origins))
    return fields[key].flatMap { reader.value($0, at: fields.location(of: key), wanted) }
  }

  /// Reads a user name, which must not contain a colon (RFC 7617 section 2).
  /// - Parameter scheme: The name of the scheme, for a message.
  func userName<Key: ConfigurationKey>(
    _ key: Key, of fields: Fields<Key>, to origins: [Origin], scheme: String
  ) -> FieldValue? {
    let user = value(key, of: fields, "a user name, or { file: NAME }", for: .user, to: origins)
    if case .plain(let text) = user, text.contains(":") {
      report.error(fields.valueLocation(of: key), "the user name has a colon, which \(scheme) does not allow")
    }
    return user
  }

  /// Reports a secret that the configuration file contains, and returns `nil`.
  /// - Parameter example: what to write instead, for the message.
  func refuseSecret<Value>(at location: TextLocation, writing example: String = "{ file: NAME }") -> Value? {
    report.error(
      location, "secrets are not allowed in this file",
      help: "put the secret into a file that only the daemon can read, and write \(example)")
  }

  /// Reports a text that is probably a secret.
  /// - Parameter previous: an option that says what the text is, such as `--password`. Empty if unknown.
  func warnIfSecret(_ text: String, after previous: String, at location: TextLocation) {
    guard SecretGuess.isLikely(text, after: previous) else { return }
    report.warning(location, "this looks like a secret, and everyone who can read this file can see it")
  }
}

/// Reads the source of a secret, such as `{ file: NAME }`.
struct SourceReader: SectionReader {
  let context: ReadingContext
  let use: SecretUse

  func source(_ node: YAMLNode, at location: TextLocation) -> SecretSource? {
    // Messages never repeat the text of `node`, which may be the secret itself.
    switch node.content {
    case .refused: return nil
    case .scalar, .sequence:
      return report.error(
        node.location,
        node.isAbsent ? "the value is empty: expected the source of a secret" : "secrets are not allowed in this file",
        help: "put the secret into a file that only the daemon can read, and write { file: NAME }")
    case .mapping: break
    }
    guard let fields = fields(node, at: location, of: SourceKey.self) else { return nil }
    if fields.has(.tokenOf) {
      return report.error(
        fields.location(of: .tokenOf),
        "\"token_of\" is allowed only in the fields of \"login\", and without other keys",
        help: "write { file: NAME }, or put token_of into form or json of a login")
    }
    let all: [SourceKey] = [.file, .systemd, .env, .command]
    let sources = all.filter { fields.has($0) }
    if sources.isEmpty, all.contains(where: fields.isMisspelled) { return nil }
    guard let key = sources.first, let value = fields[key] else {
      return report.error(
        node.location, "the secret has no source",
        help: "write { file: NAME }, { systemd: NAME }, { env: NAME } or { command: [/path/of/program] }")
    }
    guard sources.count == 1 else {
      return report.error(
        fields.location(of: sources[1]),
        "this secret already has the source \"\(key.rawValue)\", and only one source is allowed")
    }
    let options: [SourceKey] = [.ttl, .timeout, .format, .url, .username, .store, .server, .environment]
    if key != .command, let option = options.first(where: { fields.has($0) }) {
      return report.error(
        fields.location(of: option), "\"\(option.rawValue)\" is allowed only with \"command\"", help: "delete the line")
    }
    switch key {
    case .file: return file(value)
    case .systemd:
      return name(value, "the name of a systemd credential", SourceName.isCredential).map { .systemd($0) }
    case .env:
      return name(value, "the name of an environment variable", SourceName.isVariable).map { .env($0) }
    case .command: return CommandReader(context: context, fields: fields, use: use).source(value)
    case .ttl, .timeout, .format, .url, .username, .store, .server, .environment, .tokenOf: return nil
    }
  }

  /// Reads a value that may be public: plain text, or the source of a secret.
  func value(_ node: YAMLNode, at location: TextLocation, _ wanted: String) -> FieldValue? {
    if case .mapping = node.content { return source(node, at: location).map { .secret($0) } }
    return scalar(node, wanted).map { .plain($0) }
  }

  /// Reads a field of a login or token request. A field that is named like a secret, such as `password`, needs a source.
  func field(_ name: String, _ node: YAMLNode, at location: TextLocation) -> LoginForm.Field? {
    guard let value = value(node, at: location, "text, or { file: NAME }") else { return nil }
    if case .plain(let text) = value {
      if SecretGuess.isOfSecret(name), !text.isEmpty { return refuseSecret(at: node.location) }
      warnIfSecret(text, after: "--" + name, at: node.location)
    }
    return LoginForm.Field(name, value)
  }

  private func file(_ node: YAMLNode) -> SecretSource? {
    guard let path = path(node, "the path of a file") else { return nil }
    context.namedFiles.add(path, .secret, at: node.location)
    return .file(path)
  }

  private func name(_ node: YAMLNode, _ wanted: String, _ isValid: (String) -> Bool) -> String? {
    guard let text = text(node, wanted) else { return nil }
    guard isValid(text) else {
      return report.error(node.location, "this is not \(wanted)", help: "write the name, not the secret")
    }
    return text
  }
}

/// Checks the names of systemd credentials and environment variables.
enum SourceName {
  /// Whether bearerd accepts the text as the name of a systemd credential.
  static func isCredential(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && text != "." && text != ".."
      && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E }
  }

  /// Whether the text can be the name of an environment variable.
  static func isVariable(_ text: String) -> Bool {
    guard let first = text.utf8.first, !ASCII.isDigit(first), text.utf8.count <= 255 else { return false }
    return text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F }
  }
}
