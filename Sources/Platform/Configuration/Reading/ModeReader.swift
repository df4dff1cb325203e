internal import Policy

/// `mode` of a credential: whether it goes out at once, or not before the upstream has asked for it. And `replay_buffer`, which is
/// for the latter alone.
extension SettingsReader {
  private enum Mode { case preemptive, challenge }

  /// Bytes that are kept of a request's body for the second one; nil: the credential goes out at once.
  func bodyKeptForChallenge(_ fields: Fields<CredentialKey>) -> Int? {
    let mode: Mode? = fields[.mode].flatMap { choice($0, [("preemptive", .preemptive), ("challenge", .challenge)]) }
    let buffer = size(.replayBuffer, of: fields)
    let other = Self.otherKind(fields)
    if fields.has(.mode), let other {
      report.error(
        fields.place(of: .mode), "\"mode\" is allowed only with bearer and basic, and this credential uses \(other)",
        help: "delete \"mode\"")
    }
    if fields.has(.replayBuffer), mode != .challenge || other != nil {
      reportIdleBuffer(fields, mode, other)
    }
    return mode == .challenge ? buffer ?? CredentialKey.replayBufferDefault : nil
  }

  /// Why the buffer would be of no use, unless the mode beside it has been reported.
  private func reportIdleBuffer(_ fields: Fields<CredentialKey>, _ mode: Mode?, _ other: String?) {
    let place = fields.place(of: .replayBuffer)
    if let key = Self.keepers.first(where: { fields.has($0) }) {
      return report.error(
        place, "\"replay_buffer\" belongs under \"\(key.rawValue)\" in this credential",
        help: "write \(key.rawValue): { replay_buffer: 64KiB, … }")
    }
    guard !fields.has(.mode) || mode != nil && other == nil, !fields.isMisspelt(.mode) else { return }
    report.error(
      place, "\"replay_buffer\" is allowed only with mode: challenge, which may send a request again",
      help: other == nil ? "add mode: challenge, or delete \"replay_buffer\"" : "delete the line")
  }

  /// Kinds with a `replay_buffer` of their own.
  private static let keepers = [CredentialKey.oauth2, .login, .digest, .registry]

  /// nil: one that has a mode, or none at all, which is reported.
  private static func otherKind(_ fields: Fields<CredentialKey>) -> String? {
    if fields.has(.bearer) || fields.has(.basic) { return nil }
    let others = [CredentialKey.headers, .query, .oauth1] + keepers
    return others.first { fields.has($0) }?.rawValue ?? (fields.has(.clientCertificate) ? "a certificate" : nil)
  }
}

extension CredentialSettings.Scheme {
  /// The scheme that an upstream asks for if it wants it; nil: it has no mode.
  var awaited: ChallengedScheme? {
    switch self {
    case .bearer: .bearer
    case .basic: .basic
    case .headers, .digest, .registry, .query, .oauth1, .all: nil
    }
  }
}
