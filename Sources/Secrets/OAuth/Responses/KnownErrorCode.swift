/// An error code that bearerd understands, with its text. Only these texts are repeated in messages.
struct KnownErrorCode {
  let text: String
  /// The registered code with the same meaning.
  let code: TokenErrorCode

  init?(_ bytes: UnsafeRawBufferPointer) {
    if let code = TokenErrorCode.allCases.first(where: { bytes.elementsEqual($0.rawValue.utf8) }) {
      (text, self.code) = (code.rawValue, code)
    } else if let row = Self.unregistered.first(where: { bytes.elementsEqual($0.text.utf8) }) {
      (text, code) = row
    } else {
      return nil
    }
  }

  /// Codes of providers that are not registered.
  private static let unregistered: [(text: String, code: TokenErrorCode)] = [
    // GitHub
    ("bad_refresh_token", .invalidGrant), ("bad_verification_code", .invalidGrant),
    ("incorrect_client_credentials", .invalidClient), ("redirect_uri_mismatch", .invalidRequest),
    ("incorrect_device_code", .expiredToken), ("device_flow_disabled", .unauthorizedClient),
    ("application_suspended", .unauthorizedClient),
    // Slack
    ("token_expired", .invalidGrant), ("token_revoked", .invalidGrant), ("invalid_refresh_token", .invalidGrant),
    ("account_inactive", .invalidGrant), ("invalid_code", .invalidGrant), ("bad_client_secret", .invalidClient),
    ("ratelimited", .temporarilyUnavailable), ("internal_error", .serverError), ("fatal_error", .serverError),
    // Slack and Salesforce
    ("invalid_client_id", .invalidClient),
    // Salesforce
    ("inactive_user", .accessDenied), ("inactive_org", .accessDenied),
    ("rate_limit_exceeded", .temporarilyUnavailable),
    // Google
    ("deleted_client", .invalidClient), ("disabled_client", .invalidClient),
    ("admin_policy_enforced", .accessDenied), ("org_internal", .accessDenied), ("internal_failure", .serverError),
    // GoTrue (Supabase)
    ("refresh_token_not_found", .invalidGrant), ("refresh_token_already_used", .invalidGrant),
    ("session_not_found", .invalidGrant), ("session_expired", .invalidGrant), ("user_not_found", .invalidGrant),
    ("user_banned", .accessDenied), ("over_request_rate_limit", .temporarilyUnavailable),
    ("unexpected_failure", .serverError),
  ]

  /// Returns an addition to an error message for the first of Microsoft Entra's `error_codes`. `nil` if it is unknown.
  static func microsoftNote(_ number: Double) -> String? {
    let meaning: String
    switch number {
    case 7_000_215: meaning = "the client secret is wrong"
    case 7_000_222: meaning = "the client secret has expired"
    case 700_016: meaning = "there is no such client_id in this tenant"
    case 70_008, 700_082: meaning = "the refresh token has expired"
    case 50_173: meaning = "the refresh token was revoked, for example after a new password"
    case 50_076, 50_079: meaning = "the person has to log in with a second factor"
    case 65_001: meaning = "the person or an administrator has to consent"
    default: return nil
    }
    return " (AADSTS\(Int(number)): \(meaning))"
  }
}
