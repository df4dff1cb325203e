@_spi(SecretBytes) package import Credentials

/// What an authorization server said to a `TokenRequest`. Read strictly (RFC 6749 section 5): at the top level only, no key
/// twice, bounded in size and depth. Never a byte of the server's in a sentence.
package enum TokenAnswer: ~Copyable {
  case granted(TokenGrant)
  case refused(TokenRefusal)

  /// Of a body, more is not read: the connection can be closed (bytes).
  package static let longestBody = 65_536

  /// An answer to `.token`, `.code` and `.deviceToken`.
  /// - Parameters:
  ///   - body: the whole one, without its framing. The caller wipes it.
  ///   - now: seconds since 1970, for a `Retry-After` that is a date where the answer has no date of its own.
  package static func read(
    _ head: AnswerHead, _ body: Span<UInt8>, of source: TokenSource, to purpose: TokenRequest.Purpose, now: Int64,
    in arena: SecretArena
  ) -> TokenAnswer {
    .refused(TokenRefusal(.transient(retryAfter: nil), "not yet"))
  }
}

/// What of an answer's head matters: the values of its fields, trimmed; nil: there is none. Of a field that came twice, both,
/// joined by a comma.
package struct AnswerHead: Sendable {
  package var status: Int
  package var contentType: String?
  package var contentEncoding: String?
  package var retryAfter: String?
  package var date: String?

  package init(
    status: Int, contentType: String? = nil, contentEncoding: String? = nil, retryAfter: String? = nil,
    date: String? = nil
  ) {
    self.status = status
    self.contentType = contentType
    self.contentEncoding = contentEncoding
    self.retryAfter = retryAfter
    self.date = date
  }
}

/// A token that may be written into a field as it is: visible ASCII, at most `longestToken` bytes.
package struct TokenGrant: ~Copyable {
  package static let longestToken = 16_384

  package let accessToken: Secret
  /// A new one, which replaces the one that was asked with: to be stored before the access token is used (RFC 6749 section 6).
  /// nil, or equal to the one before: that one stays.
  package let refreshToken: Secret?
  /// Milliseconds from when it was asked for; nil: the server did not say, or nothing that makes sense.
  package let lifetime: UInt64?
  /// What is odd about the answer, for the log once; nil: nothing.
  package let remark: String?
}

/// Why there is no token.
package struct TokenRefusal: Error, Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// It may be asked again: for `Renewal`, `.transient`. Milliseconds for which it wants to be left alone.
    case transient(retryAfter: UInt64?)
    /// What we asked with is worth nothing any more (`invalid_grant` of a refresh token): a person has to log in, or place
    /// another first token. For `Renewal`, `.final`.
    case final
    /// The server does not accept who asks or how: the configuration has to change, or the server's. No login helps; asking
    /// again does only once something has changed. For `Renewal`, `.transient` with its longest pause.
    case misconfigured
    /// A login is not finished yet: for `DevicePolling`.
    case pending(DevicePolling.Answer)
  }

  package let kind: Kind
  /// As it was sent, if it is one that is registered.
  package let code: TokenErrorCode?
  /// For the log and `status`: what the server did, and what to do.
  package let sentence: String

  package init(_ kind: Kind, code: TokenErrorCode? = nil, _ sentence: String) {
    self.kind = kind
    self.code = code
    self.sentence = sentence
  }
}

/// `error` of an answer: those that are registered (IANA, OAuth Extensions Error Registry), and no other text.
package enum TokenErrorCode: String, Sendable, CaseIterable {
  // RFC 6749 section 5.2
  case invalidRequest = "invalid_request"
  case invalidClient = "invalid_client"
  case invalidGrant = "invalid_grant"
  case unauthorizedClient = "unauthorized_client"
  case unsupportedGrantType = "unsupported_grant_type"
  case invalidScope = "invalid_scope"
  // section 4.1.2.1
  case accessDenied = "access_denied"
  case unsupportedResponseType = "unsupported_response_type"
  case serverError = "server_error"
  case temporarilyUnavailable = "temporarily_unavailable"
  // RFC 8628 section 3.5
  case authorizationPending = "authorization_pending"
  case slowDown = "slow_down"
  case expiredToken = "expired_token"
  // RFC 8707 section 2, RFC 7009 section 2.2.1
  case invalidTarget = "invalid_target"
  case unsupportedTokenType = "unsupported_token_type"
  // OpenID Connect Core section 3.1.2.6
  case interactionRequired = "interaction_required"
  case loginRequired = "login_required"
  case accountSelectionRequired = "account_selection_required"
  case consentRequired = "consent_required"
}
