internal import Policy
internal import Settings

/// What a secret is used for.
struct SecretUse {
  enum Role: Equatable {
    case token, user, value
    /// The password of this user, or of an unknown user if `nil`.
    case password(of: String?)
  }
  let role: Role
  /// The origins to which the secret may be sent.
  let origins: [Origin]

  var isUser: Bool { role == .user }
  fileprivate var isToken: Bool { role == .token }

  fileprivate var user: String? {
    switch role {
    case .password(let user): user
    case .token, .user, .value: nil
    }
  }
}

/// Reads `format` of a command, and the keys that describe the request to the program.
extension SettingsReader {
  private enum Word: CaseIterable { case text, git, exec, docker }

  private static let formats: [(word: String, value: Word)] = [
    ("text", .text), ("git-credential", .git), ("exec-credential", .exec), ("docker-credential", .docker),
  ]

  /// Reads `format` and the keys that depend on it. Returns `nil` after an error.
  func commandFormat(_ fields: Fields<SourceKey>, for use: SecretUse) -> CommandFormat? {
    let word: Word
    if let node = fields[.format] {
      guard let chosen = choice(node, Self.formats) else { return nil }
      word = chosen
    } else {
      word = .text
    }
    refuse([.url, .username, .store], of: .git, in: fields, unless: word == .git)
    refuse([.server], of: .docker, in: fields, unless: word == .docker)
    switch word {
    case .text: return .text
    case .git: return gitFormat(fields, for: use)
    case .docker: return dockerFormat(fields, for: use)
    case .exec:
      guard use.isUser else { return .execCredential }
      report.error(
        fields.location(of: .format), "a program with format exec-credential prints a token, and no user name",
        help: "write user: NAME")
      return nil
    }
  }

  private func refuse(_ keys: [SourceKey], of word: Word, in fields: Fields<SourceKey>, unless isFine: Bool) {
    guard !isFine, let format = Self.formats.first(where: { $0.value == word })?.word else { return }
    for key in keys where fields.has(key) {
      report.error(
        fields.location(of: key), "\"\(key.rawValue)\" is allowed only with format: \(format)",
        help: fields.has(.format) ? "delete the line" : "add format: \(format), or delete \"\(key.rawValue)\"")
    }
  }

  private func gitFormat(_ fields: Fields<SourceKey>, for use: SecretUse) -> CommandFormat? {
    let stores = fields[.store].flatMap { boolean($0) } ?? false
    let user = fields[.username].flatMap { text($0, "the name of a user") }
    if let user, let other = use.user, user != other, let node = fields[.username] {
      report.error(
        node.location, "this is not the user in \"basic\"",
        help: "delete the line: bearerd asks the program for the password of the user in \"basic\"")
    }
    guard let (origin, path) = target(fields, for: use) else { return nil }
    let description = GitDescription(
      host: origin.authority, path: path, user: user ?? use.user, acceptsToken: use.isToken)
    return .gitCredential(description, stores: stores)
  }

  /// Returns the origin and path for which the program should print a credential, or `nil` after an error.
  private func target(_ fields: Fields<SourceKey>, for use: SecretUse) -> (Origin, path: String?)? {
    guard let node = fields[.url] else {
      return onlyOrigin(fields, .url, "url: https://HOST", for: use).map { ($0, nil) }
    }
    guard let text = text(node, "a URL like https://git.example.com"), checkURL(text, at: node.location) else {
      return nil
    }
    do throws(PolicySyntaxError) {
      let upstream = try Upstream(parsing: text)
      guard upstream.origin.scheme == .https else {
        report.error(
          node.location, "credentials are sent over https only", help: "write https://\(upstream.origin.host)")
        return nil
      }
      let path = text.utf8.drop { $0 != 0x2F }.dropFirst(2).drop { $0 != 0x2F }.dropFirst()
      return (upstream.origin, path.isEmpty ? nil : String(decoding: path, as: UTF8.self))
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  private func dockerFormat(_ fields: Fields<SourceKey>, for use: SecretUse) -> CommandFormat? {
    guard let node = fields[.server] else {
      return onlyOrigin(fields, .server, "server: HOST, as in \"docker login HOST\"", for: use).map {
        .dockerCredential(server: $0.authority)
      }
    }
    let wanted = "a registry, which is HOST or https://HOST/… as in \"docker login\""
    guard let text = text(node, wanted), checkURL(text, at: node.location) else { return nil }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      report.error(node.location, "expected \(wanted)")
      return nil
    }
    return .dockerCredential(server: text)
  }

  private func onlyOrigin(
    _ fields: Fields<SourceKey>, _ key: SourceKey, _ help: String, for use: SecretUse
  ) -> Origin? {
    guard let origin = use.origins.first, use.origins.count == 1 else {
      if !use.origins.isEmpty {
        missing(
          key, in: fields,
          "the credential has \(use.origins.count) origins, but bearerd can ask the program for the secret of only one origin",
          help: "add \(help)")
      }
      return nil
    }
    return origin
  }
}
