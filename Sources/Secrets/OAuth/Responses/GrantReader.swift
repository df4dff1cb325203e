internal import JSON
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// Reads granted tokens (RFC 6749 section 5.1), and accepts common deviations of servers.
extension TokenResponseReader {
  func grant(_ document: borrowing JSONDocument, in arena: SecretArena) throws(TokenRefusal) -> TokenGrant {
    var remarks: [String] = []
    try checkType(document, &remarks)
    guard document.kind("access_token") == .string else { throw malformed("without an access_token at the top level") }
    guard let accessToken = try token("access_token", document, in: arena, allows: { $0 > 0x20 && $0 < 0x7F }) else {
      throw malformed("with an access_token that is empty, too long or not allowed in a header field")
    }
    let lifetime = lifetime(document, &remarks)
    let refreshToken = try refreshToken(document, &remarks, in: arena)
    if purpose == .token, case .tokenExchange = source.grant, document.kind("issued_token_type") != .string {
      remarks.append("no issued_token_type")
    }
    remarkScope(document, &remarks)
    remarkClock(&remarks)
    let remark = remarks.isEmpty ? nil : "the response of \(name) has \(remarks.joined(separator: ", "))"
    return TokenGrant(accessToken: accessToken, refreshToken: refreshToken, lifetime: lifetime, remark: remark)
  }

  /// Throws if the token is not a bearer token (RFC 8693 section 2.2.1).
  private func checkType(_ document: borrowing JSONDocument, _ remarks: inout [String]) throws(TokenRefusal) {
    switch document.kind("token_type") {
    case .absent: remarks.append("no token_type (bearerd assumes bearer)")
    case .string:
      let isBearer = document.withText("token_type") { type in
        type.count == 6 && zip(type, "bearer".utf8).allSatisfy { $0 | 0x20 == $1 }
      }
      guard isBearer == true else {
        throw TokenRefusal(
          .misconfigured, "\(name) granted a token that is not a bearer token, which bearerd cannot use")
      }
    case .null, .boolean, .number, .array, .object: throw malformed("with a token_type that is not a string")
    }
  }

  /// Returns `expires_in` in milliseconds. `nil` if it is absent, 0 if it is invalid.
  func lifetime(_ document: borrowing JSONDocument, _ remarks: inout [String]) -> UInt64? {
    // Some servers send a string. With 0, the access token is not used, but the refresh token is kept.
    let seconds: Double?
    switch document.kind("expires_in") {
    case .absent, .null: return nil
    case .number: seconds = document.number("expires_in")
    case .string: seconds = document.withText("expires_in") { TokenGrant.number($0) } ?? nil
    case .boolean, .array, .object: seconds = nil
    }
    guard let seconds, seconds >= 1 else {
      remarks.append("an expires_in that is not a positive number of seconds (bearerd does not use the token)")
      return 0
    }
    return TokenGrant.milliseconds(seconds)
  }

  /// Returns the new refresh token. `nil` if the response has no usable one.
  private func refreshToken(
    _ document: borrowing JSONDocument, _ remarks: inout [String], in arena: SecretArena
  ) throws(TokenRefusal) -> Secret? {
    let isWanted: Bool =
      switch purpose {
      case .token: source.isRenewedByLogin
      case .code, .deviceToken: true
      case .deviceAuthorization, .revocation, .requestToken, .oauth1Token: false
      }
    guard isWanted else { return nil }
    switch document.kind("refresh_token") {
    case .absent, .null: return nil
    case .string:
      let isEmpty = document.withText("refresh_token") { $0.isEmpty } ?? true
      if isEmpty { return nil }
      // RFC 6749 appendix A.17
      if let token = try token("refresh_token", document, in: arena, allows: { $0 >= 0x20 && $0 < 0x7F }) {
        return token
      }
    case .boolean, .number, .array, .object: break
    }
    remarks.append("an unusable refresh_token (bearerd keeps the previous one)")
    return nil
  }

  /// Copies a string of the JSON document into a secret. `nil` if it is absent, empty, too long or contains a byte that
  /// `allows` rejects.
  func token(
    _ name: String, _ document: borrowing JSONDocument, in arena: SecretArena, allows: (UInt8) -> Bool
  ) throws(TokenRefusal) -> Secret? {
    do throws(SystemError) {
      return try document.withText(name) { (text) throws(SystemError) -> Secret? in
        guard !text.isEmpty, text.count <= TokenGrant.longestToken, text.allSatisfy(allows) else { return nil }
        return try Secret.copy(of: text, in: arena)
      } ?? nil
    } catch {
      throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the token: \(error)")
    }
  }
}
