internal import Policy
internal import Settings

extension SettingsReader {
  private enum Mode { case preemptive, challenge }

  /// Reads a credential's `mode` and `replay_buffer`. Returns the maximum number of bytes of a request body to keep for
  /// a second attempt, or `nil` if the mode is not `challenge`.
  func challengeReplayBuffer(_ fields: Fields<CredentialKey>) -> Int? {
    let mode: Mode? = fields[.mode].flatMap { choice($0, [("preemptive", .preemptive), ("challenge", .challenge)]) }
    let buffer = size(.replayBuffer, of: fields)
    let other = Self.otherKind(fields)
    if fields.has(.mode), let other {
      report.error(
        fields.location(of: .mode), "\"mode\" is allowed only with bearer and basic, and this credential uses \(other)",
        help: "delete \"mode\"")
    }
    if fields.has(.replayBuffer), mode != .challenge || other != nil {
      reportUnusedBuffer(fields, mode, other)
    }
    return mode == .challenge ? buffer ?? CredentialKey.replayBufferDefault : nil
  }

  private func reportUnusedBuffer(_ fields: Fields<CredentialKey>, _ mode: Mode?, _ other: String?) {
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

  /// Returns the name of the credential's scheme if `mode` does not apply to it, and otherwise `nil`.
  private static func otherKind(_ fields: Fields<CredentialKey>) -> String? {
    if fields.has(.bearer) || fields.has(.basic) { return nil }
    let others = [CredentialKey.headers, .query, .oauth1] + schemesWithBuffer
    return others.first { fields.has($0) }?.rawValue ?? (fields.has(.clientCertificate) ? "a certificate" : nil)
  }
}

extension AuthScheme {
  /// The scheme of the challenge after which the credential is sent, or `nil` if `mode` does not apply.
  var awaitedChallenge: ChallengedScheme? {
    switch self {
    case .bearer: .bearer
    case .basic: .basic
    case .headers, .digest, .registry, .query, .oauth1, .all: nil
    }
  }
}
