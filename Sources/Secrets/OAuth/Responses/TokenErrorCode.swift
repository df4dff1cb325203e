internal import Policy
internal import Settings

/// The registered values of `error` in a response of an authorization server (IANA, OAuth Extensions Error Registry).
package enum TokenErrorCode: String, Sendable, CaseIterable {
  // RFC 6749 section 5.2
  case invalidRequest = "invalid_request"
  case invalidClient = "invalid_client"
  case invalidGrant = "invalid_grant"
  case unauthorizedClient = "unauthorized_client"
  case unsupportedGrantType = "unsupported_grant_type"
  case invalidScope = "invalid_scope"
  // RFC 6749 section 4.1.2.1
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

  /// The outcome of a poll to which the server responds with this code.
  fileprivate var outcome: DevicePolling.Outcome {
    switch self {
    case .authorizationPending: .pending
    case .slowDown: .slowDown
    case .expiredToken: .expired
    default: .denied
    }
  }

  fileprivate var meaning: String {
    switch self {
    case .authorizationPending: "the login is not finished yet"
    case .slowDown: "bearerd asks too often"
    case .expiredToken: "the login was not finished in time"
    default: "it denies access"
    }
  }
}

extension TokenRefusal {
  init(_ known: KnownErrorCode, of source: TokenSource, to purpose: TokenRequest.Purpose) {
    let code = known.code
    let prefix = "\(source.endpoint.origin) said \(known.text): "
    switch code {
    case .invalidGrant where purpose == .token && source.isRenewedByLogin:
      self.init(
        .final, code: code,
        prefix + "the refresh token is no longer valid: log in again, or put a new token into its source")
    case .interactionRequired, .loginRequired, .accountSelectionRequired, .consentRequired:
      let isFinal = purpose == .token && source.isRenewedByLogin
      self.init(isFinal ? .final : .misconfigured, code: code, prefix + "a person has to log in there")
    case .invalidGrant:
      self.init(.misconfigured, code: code, prefix + "it does not accept the values that \(source.credential) sends")
    case .invalidClient:
      self.init(
        .misconfigured, code: code,
        prefix + "it does not know client_id, or rejects the secret or key of this client (client_auth)"
          + source.client.encodingHelp)
    case .unauthorizedClient, .unsupportedGrantType:
      self.init(.misconfigured, code: code, prefix + "it does not allow this grant to this client")
    case .invalidScope: self.init(.misconfigured, code: code, prefix + "check scope")
    case .invalidTarget: self.init(.misconfigured, code: code, prefix + "check resource and audience")
    case .invalidRequest, .unsupportedResponseType, .unsupportedTokenType:
      self.init(.misconfigured, code: code, prefix + "it does not accept the form of this request")
    case .serverError, .temporarilyUnavailable:
      let isRevocation = if case .revocation = purpose { true } else { false }
      self.init(
        .transient(retryAfter: nil), code: code,
        prefix + (isRevocation ? "it could not revoke the token" : "bearerd tries again"))
    case .accessDenied, .authorizationPending, .slowDown, .expiredToken:
      self.init(purpose == .deviceToken ? .pending(code.outcome) : .misconfigured, code: code, prefix + code.meaning)
    }
  }
}

extension TokenClient {
  /// The other encoding for Basic, as the end of a sentence (RFC 6749 section 2.3.1). Empty for another authentication.
  fileprivate var encodingHelp: String {
    let plain = "if client_id or the secret has characters other than letters, digits and *-._, try client_auth:"
    return switch authentication {
    case .basic: ": \(plain) basic_raw"
    case .basicRaw: ": \(plain) basic"
    case .none, .post, .privateKeyJWT, .privateKeyBearer, .certificate: ""
    }
  }
}
