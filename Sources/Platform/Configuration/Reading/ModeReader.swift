internal import Policy
internal import Settings

/// Reads `mode` and `replay_buffer` of a credential.
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

  /// The name of the credential's scheme if `mode` does not apply to it, and otherwise `nil`.
  private var otherKind: String? {
    if fields.has(.bearer) || fields.has(.basic) { return nil }
    let others = [CredentialKey.headers, .query, .oauth1] + Self.schemesWithBuffer
    return others.first { fields.has($0) }?.rawValue ?? (fields.has(.clientCertificate) ? "a certificate" : nil)
  }
}
