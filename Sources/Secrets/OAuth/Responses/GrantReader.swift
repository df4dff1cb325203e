internal import JSON
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// Reads granted tokens (RFC 6749 section 5.1), and accepts common deviations of servers.
extension TokenResponseReader {
  func grant(_ document: borrowing JSONDocument, in arena: SecretArena) throws(TokenRefusal) -> TokenGrant {
    var remarks: [String] = []
    let places = places(in: document)
    let location = places.token.joined(separator: ".")
    guard document.kind(at: places.token) == .string else {
      guard places.token != TokenPlaces.standard.token else {
        throw malformed("without an access_token at the top level")
      }
      throw TokenRefusal(
        .misconfigured, "\(name) responded with \(head.status) without a string at \(location): correct token")
    }
    try checkType(at: places.sibling("token_type"), document, &remarks)
    guard let accessToken = try token(places.token, document, in: arena, allows: { $0 > 0x20 && $0 < 0x7F }) else {
      throw malformed("with a token at \(location) that is empty, too long or not allowed in a header field")
    }
    let lifetime = lifetime(places, document, &remarks)
    let refreshToken = try refreshToken(at: places.sibling("refresh_token"), document, &remarks, in: arena)
    if purpose == .token, case .tokenExchange = source.grant, document.kind("issued_token_type") != .string {
      remarks.append("no issued_token_type")
    }
    remarkScope(document, &remarks)
    remarkClock(&remarks)
    let remark = remarks.isEmpty ? nil : "the response of \(name) has \(remarks.joined(separator: ", "))"
    return TokenGrant(accessToken: accessToken, refreshToken: refreshToken, lifetime: lifetime, remark: remark)
  }

  /// Returns the places of the tokens in this response. A response to a renewal may have no nested object, even if the
  /// response to the login has one.
  private func places(in document: borrowing JSONDocument) -> TokenPlaces {
    let object = Array(source.places.token.dropLast())
    guard case .token = purpose, source.isRenewedByLogin, !object.isEmpty, document.kind(at: object) == .absent else {
      return source.places
    }
    return .standard
  }

  /// Returns the new refresh token. `nil` if the response has no usable one.
  private func refreshToken(
    at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String], in arena: SecretArena
  ) throws(TokenRefusal) -> Secret? {
    let isWanted: Bool =
      switch purpose {
      case .token: source.isRenewedByLogin
      case .code, .deviceToken: true
      case .deviceAuthorization, .revocation, .requestToken, .oauth1Token: false
      }
    guard isWanted else { return nil }
    switch document.kind(at: path) {
    case .absent, .null: return nil
    case .string:
      let isEmpty = document.withText(at: path) { $0.isEmpty } ?? true
      if isEmpty { return nil }
      // RFC 6749 appendix A.17
      if let token = try token(path, document, in: arena, allows: { $0 >= 0x20 && $0 < 0x7F }) {
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
    _ path: [String], _ document: borrowing JSONDocument, in arena: SecretArena, allows: (UInt8) -> Bool
  ) throws(TokenRefusal) -> Secret? {
    do throws(SystemError) {
      return try document.withText(at: path) { (text) throws(SystemError) -> Secret? in
        guard !text.isEmpty, text.count <= TokenGrant.longestToken, text.allSatisfy(allows) else { return nil }
        return try Secret.copy(of: text, in: arena)
      } ?? nil
    } catch {
      throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the token: \(error)")
    }
  }
}
