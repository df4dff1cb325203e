package import Secrets

package struct TokenGrant: ~Copyable {
  /// Maximum size of a token, in bytes. Longer tokens are not used.
  package static let longestToken = 16_384

  /// Visible ASCII and not empty, so that it can be sent in a header field unchanged.
  package var accessToken: Secret
  /// The new refresh token. Must be stored before the access token is used (RFC 6749 section 6). `nil` or unchanged if
  /// the previous refresh token stays valid. Always `nil` for a grant without refresh tokens.
  package var refreshToken: Secret?
  /// Milliseconds from the request until the access token expires, at most ten years. `nil` if the server sent no
  /// lifetime. 0 if the token has already expired, or if the server sent an invalid lifetime.
  package let lifetime: UInt64?
  /// Unusual properties of the response, for the log. `nil` if there are none.
  package let remark: String?
}

// Lifetimes in the form that servers send
extension TokenGrant {
  /// Maximum lifetime in milliseconds. Longer lifetimes are reduced to it.
  static let longestLifetime: UInt64 = 10 * 365 * 86_400_000

  /// Converts a lifetime to milliseconds.
  /// - Parameter seconds: at least 1.
  static func milliseconds(_ seconds: Double) -> UInt64 {
    let milliseconds = seconds.rounded(.down) * 1000
    return milliseconds < Double(longestLifetime) ? UInt64(milliseconds) : longestLifetime
  }

  /// Parses a string of at most 20 digits. `nil` for any other string.
  static func number(_ text: UnsafeRawBufferPointer) -> Double? {
    guard !text.isEmpty, text.count <= 20, text.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return text.reduce(0) { $0 * 10 + Double($1 - 0x30) }
  }
}

extension TokenSource {
  /// Whether tokens come from a person's login, and are renewed with a refresh token.
  var isRenewedByLogin: Bool {
    switch grant {
    case .refreshToken: true
    case .clientCredentials, .jwtBearer, .tokenExchange, .password, .form: false
    }
  }

  var isTokenExchange: Bool {
    switch grant {
    case .tokenExchange: true
    case .clientCredentials, .refreshToken, .jwtBearer, .password, .form: false
    }
  }
}
