internal import Policy
package import Secrets

/// The credentials of one configuration, and who of them uses what: all of a keyring that needs no secret. It never changes,
/// is made on any thread, and is shared by the keyrings of all workers.
package struct KeyringPlan: Sendable {
  /// One credential.
  struct Row: Sendable {
    let entry: Keyring.Entry
    /// The files that the credential's lines are made of.
    let files: [SecretSource]
    /// The commands that the credential needs, including those that only its token endpoint is shown.
    let commands: [SecretCommand]
    /// Whether the lines are made of files and of nothing else that changes.
    let isOfFiles: Bool
    /// Indices of the credentials that go out together under this one's name; they stand ahead of it. Empty for most.
    let parts: [Int]
  }

  let rows: [Row]
  let indices: [String: Int]
  /// The files that secrets are in, including those that only token endpoints are shown; each once.
  package let files: Set<SecretSource>
  /// The sources of the values that token endpoints grant; each once.
  let tokens: Set<TokenSource>
  /// Indices of the credentials whose lines have what comes from there.
  private let usersOfFiles: [SecretSource: [Int]]
  private let usersOfCommands: [SecretCommand: [Int]]
  private let usersOfTokens: [TokenSource: [Int]]
  /// Credentials with commands.
  let commanding: [Int]

  package init(_ entries: [Keyring.Entry]) {
    var indices: [String: Int] = [:]
    var rows: [Row] = []
    rows.reserveCapacity(entries.count)
    for (index, entry) in entries.enumerated() {
      let sources = entry.scheme.sources.map(\.source)
      rows.append(
        Row(
          entry: entry, files: sources.filter(\.isFile), commands: entry.commands,
          isOfFiles: !sources.isEmpty && sources.allSatisfy(\.isFile),
          parts: entry.grant.parts.compactMap { indices[$0.name] }))
      if indices[entry.grant.name] == nil { indices[entry.grant.name] = index }
    }
    self.rows = rows
    self.indices = indices
    files = Set(entries.flatMap(\.files))
    tokens = Set(entries.compactMap(\.scheme.token))
    usersOfFiles = KeyringPlan.users(of: rows) { $0.files }
    usersOfCommands = KeyringPlan.users(of: rows) { $0.entry.scheme.commands }
    usersOfTokens = KeyringPlan.users(of: rows) { $0.entry.scheme.token.map { [$0] } ?? [] }
    commanding = rows.indices.filter { !rows[$0].commands.isEmpty }
  }

  /// Indices of credentials, in their order.
  func users(of file: SecretSource) -> [Int] { usersOfFiles[file] ?? [] }
  func users(of command: SecretCommand) -> [Int] { usersOfCommands[command] ?? [] }
  func users(of token: TokenSource) -> [Int] { usersOfTokens[token] ?? [] }

  private static func users<Thing: Hashable>(of rows: [Row], _ things: (Row) -> [Thing]) -> [Thing: [Int]] {
    var users: [Thing: [Int]] = [:]
    for (index, row) in rows.enumerated() {
      for thing in Set(things(row)) { users[thing, default: []].append(index) }
    }
    return users
  }
}
