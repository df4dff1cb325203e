package import Secrets
internal import Settings

package struct TokenGrant: ~Copyable {
  /// Maximum size of a token, in bytes.
  package static let longestToken = 16_384

  /// Visible ASCII and not empty, so that it can be sent in a header field unchanged.
  package var accessToken: Secret
  /// The new refresh token. Store it before using the access token (RFC 6749 section 6). `nil` if the previous refresh
  /// token stays valid.
  package var refreshToken: Secret?
  /// Milliseconds from the request until the access token expires. `nil` if unknown. 0 if it has already expired.
  package let lifetime: UInt64?
  /// Unusual properties of the response, for the log. `nil` if there are none.
  package let remark: String?

  // MARK: values in the form that servers send

  /// Maximum lifetime in milliseconds.
  static let longestLifetime: UInt64 = 10 * 365 * 86_400_000

  /// Converts a lifetime to milliseconds.
  /// - Parameter seconds: at least 1.
  static func milliseconds(_ seconds: Double) -> UInt64 {
    let milliseconds = seconds.rounded(.down) * 1000
    return milliseconds < Double(longestLifetime) ? UInt64(milliseconds) : longestLifetime
  }

  /// Parses a decimal number of at most 20 digits, with an optional fraction, and with blanks around it. Ignores the
  /// fraction. `nil` for any other string.
  static func number(_ text: UnsafeRawBufferPointer) -> Double? {
    let parts = trimmed(text).split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let digits = parts.first,
      parts.allSatisfy({ (1...20).contains($0.count) && $0.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) })
    else { return nil }
    return digits.reduce(0) { $0 * 10 + Double($1 - 0x30) }
  }

  /// Returns the text without spaces and tabs at its ends.
  static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var range = text.startIndex..<text.endIndex
    while let first = range.first, text[first] == 0x20 || text[first] == 0x09 { range.removeFirst() }
    while let last = range.last, text[last] == 0x20 || text[last] == 0x09 { range.removeLast() }
    return UnsafeRawBufferPointer(rebasing: text[range])
  }
}

extension TokenSource {
  /// Whether tokens come from a person's login, and are renewed with a refresh token.
  var isRenewedByLogin: Bool {
    switch grant {
    case .refreshToken: true
    case .clientCredentials, .jwtBearer, .tokenExchange, .password, .custom, .form, .oauth1: false
    }
  }
}
