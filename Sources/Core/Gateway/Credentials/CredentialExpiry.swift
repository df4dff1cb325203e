internal import HTTP1
internal import Policy

/// Whether an answer says that the credential has expired, and not that it may not do this, or that another one is wanted.
enum CredentialExpiry {
  enum Judgement {
    case isNotMeant, isMeant
    /// If its body says so.
    case isInBody
  }

  /// Judges by the head of the answer.
  static func judge(_ head: ResponseHead, by signs: ExpirySigns) -> Judgement {
    let demand = FurtherDemand(of: head)
    if isOfScope(head) || demand == .explicit { return .isNotMeant }
    // What the configuration says outweighs a hint.
    if head.status == 401, signs.takesAnyUnauthorized || (demand == nil && isMeant(by: head)) { return .isMeant }
    var judgement = Judgement.isNotMeant
    for sign in signs.more where sign.status == head.status {
      guard sign.field != nil else { return .isMeant }
      judgement = .isInBody
    }
    return judgement
  }

  /// Judges by the whole body of the answer, where the head says that it matters.
  static func isMeant(by body: [UInt8], of head: ResponseHead, signs: ExpirySigns) -> Bool {
    signs.more.contains { sign in
      sign.status == head.status && sign.field.map { JSONField.isThere($0, in: body) } ?? false
    }
  }

  /// Whether a head calls the token expired: it challenges for a bearer token and gives `invalid_token` for a reason, or none
  /// (RFC 6750 section 3.1), or does not challenge at all. With one malformed challenge nothing is known of its reason: false.
  private static func isMeant(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    var isBare = true
    var isMeant = false
    guard let challenges = Challenge.all(in: head) else { return false }
    for challenge in challenges {
      isBare = false
      guard FieldName.matches(challenge.scheme, of: bytes, "bearer") else { continue }
      switch challenge.value(of: "error", in: bytes) {
      case nil: isMeant = true
      case let error?:
        guard error.elementsEqual("invalid_token".utf8) else { return false }
        isMeant = true
      }
    }
    return isBare || isMeant
  }

  /// Some challenge says that the credential is good, and not enough.
  private static func isOfScope(_ head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    for field in head.fields {
      guard case .wwwAuthenticate = field.known else { continue }
      for challenge in Challenge.read(field.value, of: bytes) ?? []
      where challenge.value(of: "error", in: bytes)?.elementsEqual("insufficient_scope".utf8) == true {
        return true
      }
    }
    return false
  }
}
