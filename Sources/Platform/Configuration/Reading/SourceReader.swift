internal import Policy
import Primitives
internal import Settings

extension SettingsReader {
  /// Reads the source of a secret, such as `{ file: NAME }`.
  func source(_ node: YAMLNode, at location: TextLocation, for use: SecretUse) -> SecretSource? {
    // Messages never repeat the text of `node`, which may be the secret itself.
    switch node.content {
    case .refused: return nil
    case .scalar, .sequence:
      report.error(
        node.location,
        node.isAbsent ? "the value is empty: expected the source of a secret" : "secrets are not allowed in this file",
        help: "put the secret into a file that only the daemon can read, and write { file: NAME }")
      return nil
    case .mapping: break
    }
    guard let fields = fields(node, at: location, of: SourceKey.self) else { return nil }
    let all: [SourceKey] = [.file, .systemd, .env, .command]
    let sources = all.filter { fields.has($0) }
    if sources.isEmpty, all.contains(where: fields.isMisspelled) { return nil }
    guard let key = sources.first, let value = fields[key] else {
      report.error(
        node.location, "the secret has no source",
        help: "write { file: NAME }, { systemd: NAME }, { env: NAME } or { command: [/path/of/program] }")
      return nil
    }
    guard sources.count == 1 else {
      report.error(
        fields.location(of: sources[1]),
        "this secret already has the source \"\(key.rawValue)\", and only one source is allowed")
      return nil
    }
    let options: [SourceKey] = [.ttl, .timeout, .format, .url, .username, .store, .server]
    if key != .command, let option = options.first(where: { fields.has($0) }) {
      report.error(
        fields.location(of: option), "\"\(option.rawValue)\" is allowed only with \"command\"", help: "delete the line")
      return nil
    }
    switch key {
    case .file: return file(value)
    case .systemd:
      return name(value, "the name of a systemd credential", SourceName.isCredential).map { .systemd($0) }
    case .env:
      return name(value, "the name of an environment variable", SourceName.isVariable).map { .env($0) }
    case .command: return command(value, fields, for: use)
    case .ttl, .timeout, .format, .url, .username, .store, .server: return nil
    }
  }

  /// Reads a value that may be public: plain text, or the source of a secret.
  func value(
    _ node: YAMLNode, at location: TextLocation, _ wanted: String, for use: SecretUse
  ) -> FieldValue? {
    if case .mapping = node.content { return source(node, at: location, for: use).map { .secret($0) } }
    return scalar(node, wanted).map { .plain($0) }
  }

  private func file(_ node: YAMLNode) -> SecretSource? {
    guard let path = path(node, "the path of a file") else { return nil }
    named.add(path, .secret, at: node.location)
    return .file(path)
  }

  private func name(_ node: YAMLNode, _ wanted: String, _ isValid: (String) -> Bool) -> String? {
    guard let text = text(node, wanted) else { return nil }
    guard isValid(text) else {
      report.error(node.location, "this is not \(wanted)", help: "write the name, not the secret")
      return nil
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
