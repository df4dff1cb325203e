internal import HTTP1

/// Whether a 401 says that the credential has expired, and not that it may not do this, or that another one is wanted.
enum CredentialExpiry {
  /// It does if it challenges for a bearer token and gives `invalid_token` for a reason, or none (RFC 6750 section 3.1);
  /// and if it does not challenge at all. One malformed challenge, and it does not: nothing is known of its reason.
  static func isMeant(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    var isBare = true
    var isMeant = false
    for field in head.fields {
      guard case .wwwAuthenticate = field.known else { continue }
      guard let challenges = Challenge.read(field.value, of: bytes) else { return false }
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
    }
    return isBare || isMeant
  }
}
