internal import HTTP1
internal import Primitives

/// A 401, 403 or 407 that accepts the credential, but demands something more, such as a one-time password (T41).
enum FurtherDemand {
  case explicit
  /// A weak sign of a demand: all challenges have `resource_metadata` and no error (RFC 9728).
  case hint

  /// Finds the demand in a response. `nil` if there is none.
  init?(of head: ResponseHead) {
    let bytes = head.bytes.span
    let isProxy = head.status == 407
    var (isExplicit, isHinted, hasOther) = (false, false, false)
    for field in head.fields {
      switch field.known {
      case .proxyAuthenticate where isProxy, .wwwAuthenticate where !isProxy:
        guard let challenges = Challenge.read(field.value, of: bytes) else { return nil }
        for challenge in challenges {
          switch Self.demand(of: challenge, in: bytes) {
          case .explicit: isExplicit = true
          case .hint: isHinted = true
          case .none: hasOther = true
          case .rejection: return nil
          }
        }
      case .other where head.status == 401: if Self.asksGitHubOTP(field, of: bytes) { isExplicit = true }
      default: break
      }
    }
    guard isExplicit || (isHinted && !hasOther) else { return nil }
    self = isExplicit ? .explicit : .hint
  }

  private enum Demand { case explicit, hint, none, rejection }

  private static func demand(of challenge: Challenge, in bytes: Span<UInt8>) -> Demand {
    if let error = challenge.value(of: "error", in: bytes) {
      return errors.contains { $0.utf8.elementsEqual(error) } ? .explicit : .rejection
    }
    if schemes.contains(where: { FieldName.matches(challenge.scheme, of: bytes, $0) }) { return .explicit }
    if challenge.value(of: "claims", in: bytes) != nil { return .explicit }
    return challenge.value(of: "resource_metadata", in: bytes) != nil ? .hint : .none
  }

  /// Challenge schemes that accept the credential and demand something more.
  private static let schemes = ["otp", "totp", "mfa", "2fa", "ipaddress"]

  /// Values of `error` that demand something more.
  private static let errors = [
    "insufficient_scope", "insufficient_user_authentication", "insufficient_claims", "use_dpop_nonce",
  ]

  /// Whether GitHub asks for a one-time password in addition to the password: `X-GitHub-OTP: required; app`.
  private static func asksGitHubOTP(_ field: Field, of bytes: Span<UInt8>) -> Bool {
    guard field.name.count == 12, FieldName.matches(field.name, of: bytes, "x-github-otp") else { return false }
    let word = field.value.lowerBound..<min(field.value.lowerBound + 8, field.value.upperBound)
    return FieldName.matches(word, of: bytes, "required")
  }
}

enum ChallengeTreatment {
  /// The challenges are forwarded, because bearerd added no credential to the request.
  case passes
  /// The challenges are forwarded, except those that make a program prompt for a password (T36).
  case promptless
  case dropped
  /// The challenges reject the credential, and are replaced by a neutral challenge.
  case replaced

  /// Schemes for which programs prompt the user (RFC 7617, RFC 7616, RFC 4559 and others).
  private static let prompts = [
    "basic", "digest", "ntlm", "negotiate", "kerberos", "mutual", "scram-sha-1", "scram-sha-256", "xbasic",
  ]

  /// Appends a challenge field without the challenges that prompt for a password.
  /// - Returns: `true` if no challenge was removed.
  static func writePromptless(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) -> Bool {
    guard let challenges = Challenge.read(field.value, of: bytes) else { return false }
    var isFirst = true
    for index in challenges.indices where !promptsUser(challenges[index], in: bytes) {
      let scheme = challenges[index].scheme
      let isLast = index == challenges.count - 1
      var end = isLast ? field.value.upperBound : challenges[index + 1].scheme.lowerBound
      while end > scheme.upperBound, [0x20, 0x09, UInt8(ascii: ",")].contains(bytes[end - 1]) { end -= 1 }
      if isFirst { output.append(bytes.extracting(field.name)) }
      output.append(isFirst ? ": " : ", ")
      output.append(bytes.extracting(scheme.lowerBound..<end))
      isFirst = false
    }
    if !isFirst { output.append("\r\n") }
    return !challenges.contains { promptsUser($0, in: bytes) }
  }

  /// Whether a 401 or 407 has a challenge field, and `writePromptless` would remove all challenges.
  static func removesAll(of head: ResponseHead) -> Bool {
    guard head.status == 401 || head.status == 407 else { return false }
    let bytes = head.bytes.span
    var hasOne = false
    for field in head.fields {
      switch field.known {
      case .wwwAuthenticate where head.status == 401, .proxyAuthenticate where head.status == 407:
        hasOne = true
        let challenges = Challenge.read(field.value, of: bytes) ?? []
        if challenges.contains(where: { !promptsUser($0, in: bytes) }) { return false }
      default: break
      }
    }
    return hasOne
  }

  private static func promptsUser(_ challenge: Challenge, in bytes: Span<UInt8>) -> Bool {
    prompts.contains { FieldName.matches(challenge.scheme, of: bytes, $0) }
  }
}

extension Exchange {
  /// Determines the response's verdict on the credential, and which of its challenges the client gets.
  mutating func evaluateCredential(output: inout Output) {
    let status = response.status
    passage.challenges = grant == nil ? .passes : session.isSentWithoutCredential ? .promptless : .dropped
    output.results.verdict = nil
    guard grant != nil, !session.isSentWithoutCredential else { return }
    if isGRPC, status == 200 {
      guard record.callStatus != nil else {
        (passage.awaitsCallStatus, passage.awaitsMessage) = (true, true)
        output.results.isVerdictPreliminary = true
        return
      }
      output.results.verdict = callVerdict
      record.isRejected = output.results.verdict == .rejected
      return
    }
    output.results.verdict = CredentialVerdict(status: status)
    switch output.results.verdict {
    case .rejected, .forbidden:
      if FurtherDemand(of: response) != nil {
        passage.challenges = .promptless
        output.results.verdict = nil
      } else if case .rejected = output.results.verdict {
        passage.challenges = .replaced
      }
    case .accepted, nil: break
    }
  }

  /// Records that the request was sent without its credential, because the upstream has not asked for it yet.
  package mutating func sentWithoutCredential() { session.isSentWithoutCredential = true }
}
