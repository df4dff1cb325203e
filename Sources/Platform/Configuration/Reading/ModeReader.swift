internal import Settings

/// Reads `mode`, `replay_buffer` and `realm` of a credential.
struct ModeReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<CredentialKey>

  private enum Mode: String, CaseIterable { case preemptive, challenge }

  /// Returns the maximum number of bytes of a request body to keep for a second attempt, or `nil` if the mode is not
  /// `challenge`.
  func challengeReplayBuffer() -> Int? {
    let mode: Mode? = choice(.mode, of: fields)
    let buffer = size(.replayBuffer, of: fields)
    let other = otherKind
    if fields.has(.mode), let other {
      report.error(
        fields.location(of: .mode), "\"mode\" is allowed only with bearer and basic, and this credential uses \(other)",
        help: "delete \"mode\"")
    }
    if fields.has(.replayBuffer), mode != .challenge || other != nil {
      reportUnusedBuffer(mode, other)
    }
    return mode == .challenge ? buffer ?? CredentialKey.replayBufferDefault : nil
  }

  /// Returns the realm that a challenge must have, or `nil` for any realm.
  func realm() -> String? {
    guard let node = fields[.realm] else { return nil }
    let location = fields.location(of: .realm)
    if let key = Self.schemesWithRealm.first(where: { fields.has($0) }) {
      return report.error(
        location, "\"realm\" belongs under \"\(key.rawValue)\" in this credential",
        help: "write \(key.rawValue): { realm: …, … }")
    }
    guard otherKind == nil, isChallenge else {
      return report.error(
        location, "\"realm\" is allowed only with mode: challenge, because other credentials wait for no challenge",
        help: otherKind == nil ? "add mode: challenge, or delete \"realm\"" : "delete the line")
    }
    return challengeRealm(node)
  }

  private func reportUnusedBuffer(_ mode: Mode?, _ other: String?) {
    let location = fields.location(of: .replayBuffer)
    if let key = Self.schemesWithBuffer.first(where: { fields.has($0) }) {
      return report.error(
        location, "\"replay_buffer\" belongs under \"\(key.rawValue)\" in this credential",
        help: "write \(key.rawValue): { replay_buffer: 64KiB, … }")
    }
    guard !fields.has(.mode) || mode != nil && other == nil, !fields.isMisspelled(.mode) else { return }
    report.error(
      location, "\"replay_buffer\" is allowed only with mode: challenge, which may send a request again",
      help: other == nil ? "add mode: challenge, or delete \"replay_buffer\"" : "delete the line")
  }

  /// Schemes that have their own `replay_buffer`.
  private static let schemesWithBuffer = [CredentialKey.oauth2, .login, .digest, .registry]

  /// Whether the credential has `mode: challenge`, or an invalid or misspelled mode.
  private var isChallenge: Bool {
    guard let node = fields[.mode] else { return fields.isMisspelled(.mode) }
    guard case .scalar(let text, _) = node.content else { return true }
    return text != Mode.preemptive.rawValue
  }

  /// Schemes that have their own `realm`.
  private static let schemesWithRealm = [CredentialKey.digest, .registry, .oauth1]

  /// The name of the credential's scheme if `mode` does not apply to it, and otherwise `nil`.
  private var otherKind: String? {
    if fields.has(.bearer) || fields.has(.basic) { return nil }
    let others = [CredentialKey.headers, .query, .oauth1] + Self.schemesWithBuffer
    return others.first { fields.has($0) }?.rawValue ?? (fields.has(.clientCertificate) ? "a certificate" : nil)
  }
}

extension SectionReader {
  /// Reads the realm of an expected challenge (RFC 9110 section 11.5). bearerd compares its bytes.
  func challengeRealm(_ node: YAMLNode) -> String? {
    guard let text = text(node, "the realm of the upstream's challenge") else { return nil }
    guard !text.isEmpty, text.utf8.count <= 1_024, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      return report.error(
        node.location,
        "the realm is not valid: expected 1 to 1024 bytes without control characters",
        help: "copy the text between the quotation marks after realm= in the upstream's WWW-Authenticate field")
    }
    return text
  }
}
