internal import Policy
internal import Settings

/// Reads `digest` of a credential: a user and a password (RFC 7616).
struct DigestReader: SectionReader {
  let context: ReadingContext

  func scheme(_ credential: Fields<CredentialKey>, of draft: inout CredentialDraft) -> AuthScheme? {
    guard
      let fields: Fields<DigestKey> = section(
        .digest, of: credential, having: "a user and a password",
        help: "write digest: { user: NAME, password: { file: NAME } }")
    else { return nil }
    let errors = report.errorCount
    required(.user, of: fields, "\"digest\" has no user", help: "add user: NAME")
    // RFC 7616 section 3.4.2
    let user = userName(.user, of: fields, to: draft.origins, scheme: "Digest")
    let hashes = fields[.algorithms].flatMap { self.hashes($0) }
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? DigestKey.replayBufferDefault
    draft.realm = fields[.realm].flatMap { challengeRealm($0) }
    required(.password, of: fields, "\"digest\" has no password", help: "add password: { file: NAME }")
    guard let password = source(.password, of: fields, for: .password(of: user?.plainText), to: draft.origins),
      let user, report.errorCount == errors
    else { return nil }
    return .digest(user: user, password: password, hashes: hashes ?? Set(DigestHash.allCases))
  }

  private func hashes(_ node: YAMLNode) -> Set<DigestHash>? {
    guard let nodes = filledList(node, of: "algorithms: MD5, SHA-256, SHA-512-256") else { return nil }
    return Set(distinct(nodes, as: \.rawValue) { choice($0) as DigestHash? }.map(\.value))
  }
}
