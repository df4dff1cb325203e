internal import Policy
package import Settings

/// The credentials of one configuration with their sources, without secrets. The keyrings of all workers share one
/// plan.
package struct KeyringPlan: Sendable {
  struct Row: Sendable {
    let entry: Keyring.Entry
    let files: [SecretSource]
    /// The commands that the credential needs, including those for its token endpoint.
    let commands: [SecretCommand]
    let isOfFiles: Bool
    /// Indices of the rows whose credentials are sent together as this credential.
    let parts: [Int]
  }

  let rows: [Row]
  let indices: [String: Int]
  /// All files with secrets, including those that only token endpoints receive.
  package let files: Set<SecretSource>
  let tokens: Set<TokenSource>
  /// For each secret file, the indices of the credentials that contain its secret.
  private let usersOfFiles: [SecretSource: [Int]]
  private let usersOfCommands: [SecretCommand: [Int]]
  private let usersOfTokens: [TokenSource: [Int]]
  let indicesWithCommands: [Int]

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
    indicesWithCommands = rows.indices.filter { !rows[$0].commands.isEmpty }
  }

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
