internal import Policy
internal import Settings

/// Reads `format` of a command, and the keys that describe the request to the program.
struct CommandFormatReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<SourceKey>
  let use: SecretUse

  private enum Word: String, CaseIterable {
    case text
    case git = "git-credential"
    case exec = "exec-credential"
    case docker = "docker-credential"
  }

  /// Reads `format` and the keys that depend on it. Returns `nil` after an error.
  func format() -> CommandFormat? {
    guard let word: Word = fields.has(.format) ? choice(.format, of: fields) : .text else { return nil }
    if word != .git { refuse([.url, .username, .store], of: .git) }
    if word != .docker { refuse([.server], of: .docker) }
    switch word {
    case .text: return .text
    case .git: return gitFormat()
    case .docker: return dockerFormat()
    case .exec:
      guard use.role == .user else { return .execCredential }
      return report.error(
        fields.location(of: .format), "a program with format exec-credential prints a token, and no user name",
        help: "write user: NAME")
    }
  }

  private func refuse(_ keys: [SourceKey], of format: Word) {
    let format = format.rawValue
    for key in keys where fields.has(key) {
      report.error(
        fields.location(of: key), "\"\(key.rawValue)\" is allowed only with format: \(format)",
        help: fields.has(.format) ? "delete the line" : "add format: \(format), or delete \"\(key.rawValue)\"")
    }
  }

  private func gitFormat() -> CommandFormat? {
    let stores = boolean(.store, of: fields) ?? false
    let user = fields[.username].flatMap { text($0, "the name of a user") }
    if let user, let other = use.user, user != other, let node = fields[.username] {
      report.error(
        node.location, "this is not the user in \"basic\"",
        help: "delete the line: bearerd asks the program for the password of the user in \"basic\"")
    }
    guard let (origin, path) = target() else { return nil }
    let description = GitDescription(
      host: origin.authority, path: path, user: user ?? use.user, acceptsToken: use.role == .token)
    return .gitCredential(description, stores: stores)
  }

  /// Returns the origin and path for which the program should print a credential, or `nil` after an error.
  private func target() -> (Origin, path: String?)? {
    guard let node = fields[.url] else {
      return onlyOrigin(.url, "url: https://HOST").map { ($0, nil) }
    }
    guard let origin = url(node, "a URL like https://git.example.com", Upstream.init(parsing:))?.origin else {
      return nil
    }
    guard origin.scheme == .https else {
      return report.error(node.location, "credentials are sent over https only", help: "write https://\(origin.host)")
    }
    let path = (node.text ?? "").utf8.drop { $0 != 0x2F }.dropFirst(2).drop { $0 != 0x2F }.dropFirst()
    return (origin, path.isEmpty ? nil : String(decoding: path, as: UTF8.self))
  }

  private func dockerFormat() -> CommandFormat? {
    guard let node = fields[.server] else {
      return onlyOrigin(.server, "server: HOST, as in \"docker login HOST\"").map {
        .dockerCredential(server: $0.authority)
      }
    }
    let wanted = "a registry, which is HOST or https://HOST/… as in \"docker login\""
    guard let text = text(node, wanted), checkURL(text, at: node.location) else { return nil }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return report.error(node.location, "expected \(wanted)")
    }
    return .dockerCredential(server: text)
  }

  private func onlyOrigin(_ key: SourceKey, _ help: String) -> Origin? {
    guard let origin = use.origins.first, use.origins.count == 1 else {
      if !use.origins.isEmpty {
        missing(
          [key], in: fields,
          "the credential has \(use.origins.count) origins, but bearerd can ask the program for the secret of only one origin",
          help: "add \(help)")
      }
      return nil
    }
    return origin
  }
}
