internal import JSON
internal import Primitives
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

  // MARK: type (RFC 6749 section 7.1)

  /// Types that servers use for bearer tokens, instead of `bearer`.
  private static let otherNames = [
    "bearertoken", "token", "bot", "user", "urn:ietf:params:oauth:token-type:access_token",
  ]

  /// Types whose tokens are useless without a key, or in requests (RFC 9449, RFC 8693 section 2.2.1).
  private static let unusable = [("dpop", "DPoP"), ("pop", "PoP"), ("mac", "MAC"), ("n_a", "N_A")]

  /// Throws if the token is not a bearer token. A missing type means bearer.
  private func checkType(
    at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String]
  ) throws(TokenRefusal) {
    if document.isBlank(at: path) { return remarks.append("no token_type (bearerd assumes bearer)") }
    guard document.kind(at: path) == .string else { throw malformed("with a token_type that is not a string") }
    if isType(at: path, "bearer", document) { return }
    if Self.otherNames.contains(where: { isType(at: path, $0, document) }) {
      return remarks.append("a token_type that is not Bearer (bearerd assumes bearer)")
    }
    let type = Self.unusable.first { isType(at: path, $0.0, document) }.map { "a \($0.1) token" }
    throw TokenRefusal(
      .misconfigured,
      "\(name) granted \(type ?? "a token of an unknown type"), which bearerd cannot use: configure bearer tokens there"
    )
  }

  /// Whether the string at a path is the type, without regard to case and to blanks around the string.
  private func isType(at path: [String], _ type: String, _ document: borrowing JSONDocument) -> Bool {
    document.withText(at: path) { text in
      TokenGrant.trimmed(text).elementsEqual(type.utf8) { ASCII.lowercased($0) == $1 }
    } ?? false
  }

  // MARK: lifetime

  /// Returns the lifetime in milliseconds. `nil` if it is unknown, 0 if it is invalid or over.
  private func lifetime(
    _ places: TokenPlaces, _ document: borrowing JSONDocument, _ remarks: inout [String]
  ) -> UInt64? {
    if let path = places.expiresAt, !document.isBlank(at: path) { return remainder(at: path, document, &remarks) }
    return lifetime(at: places.expiresIn ?? places.sibling("expires_in"), document, &remarks)
  }

  /// Returns a lifetime in seconds as milliseconds. `nil` if it is unknown, 0 if it is invalid.
  func lifetime(at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String]) -> UInt64? {
    if document.isBlank(at: path) { return nil }
    guard let seconds = document.seconds(at: path), seconds >= 1 else {
      // With 0, the access token is not used, but the refresh token is kept.
      remarks.append("an expires_in that is not a positive number of seconds (bearerd does not use the token)")
      return 0
    }
    return TokenGrant.milliseconds(seconds)
  }

  /// Returns the milliseconds until the time at this path, by the server's clock. 0 if it is invalid or over.
  private func remainder(at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String]) -> UInt64 {
    let rest = document.time(at: path).map { $0 - Double(head.serverTime(now: now)) }
    guard let rest, rest >= 1 else {
      remarks.append("an expires_at that is not a time in the future (bearerd does not use the token)")
      return 0
    }
    return TokenGrant.milliseconds(rest)
  }

  // MARK: remarks on unusual grants that bearerd accepts

  /// Adds a remark if the granted scope differs from the requested scope (RFC 6749 section 5.1).
  private func remarkScope(_ document: borrowing JSONDocument, _ remarks: inout [String]) {
    guard !source.scope.isEmpty, document.kind("scope") == .string else { return }
    var isMore = false
    var missing = source.scope
    document.withText("scope") { text in
      for granted in text.split(separator: 0x20) {
        isMore = isMore || !source.scope.contains { $0.utf8.elementsEqual(granted) }
        missing.removeAll { $0.utf8.elementsEqual(granted) }
      }
    }
    if !missing.isEmpty { remarks.append("less than the requested scope (without \(missing.joined(separator: " ")))") }
    if isMore { remarks.append("more than the requested scope") }
  }

  /// Adds a remark if the server's clock differs from ours by at least a minute (T57).
  private func remarkClock(_ remarks: inout [String]) {
    guard let lead = head.clockLead(now: now) else { return }
    let most: String
    switch lead.magnitude {
    case ..<60: return
    case ..<3_600: most = "a minute"
    case ..<86_400: most = "an hour"
    default: most = "a day"
    }
    remarks.append("a date that is more than \(most) \(lead > 0 ? "ahead of" : "behind") the clock of this machine")
  }
}

extension JSONDocument {
  /// Whether there is no value: the member is absent, `null`, or a string without visible characters.
  func isBlank(at path: [String]) -> Bool {
    switch kind(at: path) {
    case .absent, .null: true
    case .string: withText(at: path) { TokenGrant.trimmed($0).isEmpty } ?? true
    case .boolean, .number, .array, .object: false
    }
  }

  /// Returns a number, or a string with a number.
  func seconds(at path: [String]) -> Double? {
    number(at: path) ?? withText(at: path) { TokenGrant.number($0) } ?? nil
  }

  /// Returns a time in seconds since 1970: an RFC 3339 time, or a number of seconds or milliseconds.
  fileprivate func time(at path: [String]) -> Double? {
    // As seconds, this number would be after the year 5000.
    if let number = seconds(at: path) { return number < 1e11 ? number : number / 1_000 }
    let time = withText(at: path) { text -> Int64? in
      let text = TokenGrant.trimmed(text)
      // Shorter texts have no time of day.
      guard (20...64).contains(text.count), text.allSatisfy({ $0 < 0x80 }) else { return nil }
      return CivilTime.seconds(parsing: String(decoding: text, as: UTF8.self))
    }
    return (time ?? nil).map { Double($0) }
  }
}
