internal import HTTP1
internal import Policy

/// Detects responses that report an expired credential.
enum CredentialExpiry {
  enum Verdict {
    case notExpired, expired
    case dependsOnBody
  }

  static func evaluate(_ head: ResponseHead, by signs: ExpirySigns) -> Verdict {
    let demand = FurtherDemand(of: head)
    if isOfScope(head) || demand == .explicit { return .notExpired }
    // The configured signs take precedence over a hint.
    if head.status == 401, signs.acceptsAnyUnauthorized || (demand == nil && isExpired(by: head)) { return .expired }
    var verdict = Verdict.notExpired
    for sign in signs.more where sign.status == head.status {
      guard sign.field != nil else { return .expired }
      verdict = .dependsOnBody
    }
    return verdict
  }

  /// Whether the complete body reports an expired credential.
  static func isExpired(by body: [UInt8], of head: ResponseHead, signs: ExpirySigns) -> Bool {
    signs.more.contains { sign in
      sign.status == head.status && sign.field.map { JSONField.isPresent($0, in: body) } ?? false
    }
  }

  /// Whether the head reports an expired token (RFC 6750 section 3.1).
  private static func isExpired(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    var isExpired = false
    guard let challenges = Challenge.all(in: head) else { return false }
    for challenge in challenges where FieldName.matches(challenge.scheme, of: bytes, "bearer") {
      if let error = challenge.value(of: "error", in: bytes), !error.elementsEqual("invalid_token".utf8) {
        return false
      }
      isExpired = true
    }
    return challenges.isEmpty || isExpired
  }

  /// Whether a challenge reports that the credential is valid but lacks a scope.
  private static func isOfScope(_ head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    for field in head.fields where field.known == .wwwAuthenticate {
      for challenge in Challenge.read(field.value, of: bytes) ?? []
      where challenge.value(of: "error", in: bytes)?.elementsEqual("insufficient_scope".utf8) == true {
        return true
      }
    }
    return false
  }
}
