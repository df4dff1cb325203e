package import Secrets

/// The tokens that a server has granted.
package struct TokenGrant: ~Copyable {
  /// Bytes of a token. Servers that put a whole directory into one come near to it.
  package static let longestToken = 16_384

  /// May be written into a field as it is: visible ASCII, not empty.
  package var accessToken: Secret
  /// A new one, which replaces the one that was asked with: to be stored before the access token is used (RFC 6749 section 6).
  /// nil, or equal to the one before: that one stays. Always nil where the grant does not need one.
  package var refreshToken: Secret?
  /// Milliseconds from when it was asked for; nil: the server did not say; 0: no time is left. Ten years at most.
  package let lifetime: UInt64?
  /// A remark on what is odd about the answer, for the log once; nil: nothing.
  package let remark: String?
}

// Lifetimes as servers send them.
extension TokenGrant {
  /// Milliseconds: ten years.
  static let longestLifetime: UInt64 = 10 * 365 * 86_400_000

  /// - Parameter seconds: at least 1.
  static func milliseconds(_ seconds: Double) -> UInt64 {
    let milliseconds = seconds.rounded(.down) * 1000
    return milliseconds < Double(longestLifetime) ? UInt64(milliseconds) : longestLifetime
  }

  /// A text of digits; nil: it is none.
  static func number(_ text: UnsafeRawBufferPointer) -> Double? {
    guard !text.isEmpty, text.count <= 20, text.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return text.reduce(0) { $0 * 10 + Double($1 - 0x30) }
  }
}

extension TokenSource {
  /// Whether tokens come from a person's login, and are renewed with refresh tokens.
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
