internal import Policy

/// The use of a secret, as far as a program can be told of it.
struct SecretUse {
  enum Role: Equatable {
    case token, user, value
    /// nil: the user's name is none that stands in the file.
    case password(of: String?)
  }
  let role: Role
  /// Origins of its credential; empty: they are wrong, and that is reported.
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

/// `format` of a command, and what it needs to be asked with.
extension SettingsReader {
  private enum Word: CaseIterable { case text, git, exec, docker }

  private static let formats: [(word: String, value: Word)] = [
    ("text", .text), ("git-credential", .git), ("exec-credential", .exec), ("docker-credential", .docker),
  ]

  /// nil: reported.
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
        fields.place(of: .format), "a program with format exec-credential prints a token, and no user name",
        help: "write user: NAME")
      return nil
    }
  }

  private func refuse(_ keys: [SourceKey], of word: Word, in fields: Fields<SourceKey>, unless isFine: Bool) {
    guard !isFine, let format = Self.formats.first(where: { $0.value == word })?.word else { return }
    for key in keys where fields.has(key) {
      report.error(
        fields.place(of: key), "\"\(key.rawValue)\" is allowed only with format: \(format)",
        help: fields.has(.format) ? "delete the line" : "add format: \(format), or delete \"\(key.rawValue)\"")
    }
  }

  private func gitFormat(_ fields: Fields<SourceKey>, for use: SecretUse) -> CommandFormat? {
    let stores = fields[.store].flatMap { boolean($0) } ?? false
    let user = fields[.username].flatMap { text($0, "the name of a user") }
    if let user, let other = use.user, user != other, let node = fields[.username] {
      report.error(
        node.place, "this is not the user in \"basic\"",
        help: "delete the line: bearerd asks the program for the password of the user in \"basic\"")
    }
    guard let (origin, path) = place(fields, for: use) else { return nil }
    let description = GitDescription(
      host: origin.authority, path: path, user: user ?? use.user, takesToken: use.isToken)
    return .gitCredential(description, stores: stores)
  }

  /// The place whose credential the program is asked for.
  private func place(_ fields: Fields<SourceKey>, for use: SecretUse) -> (Origin, path: String?)? {
    guard let node = fields[.url] else {
      return onlyOrigin(fields, .url, "url: https://HOST", for: use).map { ($0, nil) }
    }
    guard let text = text(node, "a URL like https://git.example.com"), checkURL(text, at: node.place) else {
      return nil
    }
    do throws(OriginError) {
      let upstream = try Upstream(parsing: text)
      guard upstream.origin.scheme == .https else {
        report.error(node.place, "credentials are sent over https only", help: "write https://\(upstream.origin.host)")
        return nil
      }
      let path = text.utf8.drop { $0 != 0x2F }.dropFirst(2).drop { $0 != 0x2F }.dropFirst()
      return (upstream.origin, path.isEmpty ? nil : String(decoding: path, as: UTF8.self))
    } catch {
      report.error(node.place, error.message)
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
    guard let text = text(node, wanted), checkURL(text, at: node.place) else { return nil }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      report.error(node.place, "expected \(wanted)")
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
