internal import HTTP1
internal import Primitives

/// What a 401, 403 or 407 may ask for although the credential is good: a one-time password, another scope, a stronger login.
/// Such an answer is for the program, and says nothing against the credential (T41).
enum FurtherDemand {
  case explicit
  /// `resource_metadata` and no other challenge: RFC 9728 lets servers send it with any 401.
  case hint

  /// `nil` if the answer demands nothing further. An error that says something else, or a challenge that cannot be read, speaks
  /// against the credential.
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

  /// npm's registry asks for a second factor, or for another address (`ipaddress`); the others stand for the same.
  private static let schemes = ["otp", "totp", "mfa", "2fa", "ipaddress"]

  /// RFC 6750 section 3.1, RFC 9470 section 3, RFC 9449 section 8, and Entra's continuous access evaluation.
  private static let errors = [
    "insufficient_scope", "insufficient_user_authentication", "insufficient_claims", "use_dpop_nonce",
  ]

  /// GitHub wants a one-time password beside a password: `X-GitHub-OTP: required; app`.
  private static func asksGitHubOTP(_ field: Field, of bytes: Span<UInt8>) -> Bool {
    guard field.name.count == 12, FieldName.matches(field.name, of: bytes, "x-github-otp") else { return false }
    let word = field.value.lowerBound..<min(field.value.lowerBound + 8, field.value.upperBound)
    return FieldName.matches(word, of: bytes, "required")
  }
}

/// What becomes of the challenges of a response.
enum ChallengeTreatment {
  /// They go on: the request has no credential of bearerd's.
  case passes
  /// They go on, because they do not reject the credential, but for those that ask a person for a password: no person has
  /// the password (T36).
  case promptless
  /// They end here.
  case dropped
  /// They reject the credential: a neutral one takes their place.
  case replaced

  /// Schemes for which programs ask a person (RFC 7617, RFC 7616, RFC 4559 and others).
  private static let prompts = [
    "basic", "digest", "ntlm", "negotiate", "kerberos", "mutual", "scram-sha-1", "scram-sha-256", "xbasic",
  ]

  /// Appends a line of challenges without those that ask a person for a password; nothing if no other is left.
  /// - Returns: `true` if all of them went on.
  static func writePromptless(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) -> Bool {
    guard let challenges = Challenge.read(field.value, of: bytes) else { return false }
    var isFirst = true
    for index in challenges.indices where !asks(challenges[index], in: bytes) {
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
    return !challenges.contains { asks($0, in: bytes) }
  }

  /// Whether a 401 or 407 has challenges, and `writePromptless` leaves none of them.
  static func withholdsAll(of head: ResponseHead) -> Bool {
    guard head.status == 401 || head.status == 407 else { return false }
    let bytes = head.bytes.span
    var hasOne = false
    for field in head.fields {
      switch field.known {
      case .wwwAuthenticate where head.status == 401, .proxyAuthenticate where head.status == 407:
        hasOne = true
        let challenges = Challenge.read(field.value, of: bytes) ?? []
        if challenges.contains(where: { !asks($0, in: bytes) }) { return false }
      default: break
      }
    }
    return hasOne
  }

  private static func asks(_ challenge: Challenge, in bytes: Span<UInt8>) -> Bool {
    prompts.contains { FieldName.matches(challenge.scheme, of: bytes, $0) }
  }
}

extension Exchange {
  /// Judges what a response says of the credential that went out with its request.
  mutating func judgeCredential(output: inout Output) {
    let status = response.status
    passage.challenges = grant == nil ? .passes : session.isBare ? .promptless : .dropped
    output.verdict = nil
    guard grant != nil, !session.isBare else { return }
    output.verdict = CredentialVerdict(status: status)
    switch output.verdict {
    case .rejected, .forbidden:
      if FurtherDemand(of: response) != nil {
        passage.challenges = .promptless
        output.verdict = nil
      } else if case .rejected = output.verdict {
        passage.challenges = .replaced
      }
    case .accepted, nil: break
    }
  }

  /// The request went out, and nothing of the credential with it: the upstream has not asked for one yet.
  package mutating func wentOutBare() { session.isBare = true }
}
