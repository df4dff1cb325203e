import Primitives

/// Recognizes texts that are probably secrets, such as an argument of a program.
enum SecretGuess {
  private static let options: Set<String> = ["--password", "--passwd", "--token", "--api-key", "--apikey"]
  private static let prefixes = [
    "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "sk_live_", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ", "hvs.",
    "pypi-", "npm_", "dop_v1_", "SG.", "Bearer ", "Basic ",
  ]
  private static let minimumLength = 20
  private static let minimumHexadecimalLength = 32

  /// Whether an argument is probably a secret, judged by its text and by the argument before it.
  static func isLikely(_ word: String, after previous: String) -> Bool {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, options.contains(ASCII.lowercased(String(parts[0]))) { return isValue(parts[1]) }
    if options.contains(ASCII.lowercased(previous)), isValue(word[...]) { return true }
    if let url = word.firstRange(of: "://") {
      let authority = word[url.upperBound...].prefix { $0 != "/" }
      return authority.contains("@") && authority.prefix { $0 != "@" }.contains(":")
    }
    if word.utf8.count >= minimumLength, prefixes.contains(where: word.hasPrefix) { return true }
    return isRandom(word)
  }

  private static let parameters: Set<String> = [
    "access_token", "api-key", "api_key", "apikey", "assertion", "client_assertion", "client_secret", "code", "key",
    "passwd", "password", "private_key", "refresh_token", "secret", "sig", "signature", "subscription-key", "token",
  ]

  /// Whether a URL parameter of this lowercase name usually has a secret as its value.
  static func isSecretParameter(_ name: String) -> Bool { parameters.contains(name) }

  /// Whether a field of a login or token request with this name contains a secret, such as `password`.
  static func isOfSecret(_ name: String) -> Bool {
    let words = ASCII.lowercased(name).split { !ASCII.isLetterOrDigit($0.utf8.first ?? 0) }
    return words.contains { word in
      ["password", "passwd", "pass", "pwd", "passphrase", "secret", "pin", "otp", "passcode"].contains(String(word))
        || word.hasSuffix("password")
    }
  }

  /// Whether the text is neither a path nor an option.
  private static func isValue(_ text: Substring) -> Bool {
    guard let first = text.utf8.first else { return false }
    return first != UInt8(ascii: "/") && first != UInt8(ascii: "-")
  }

  /// Whether the word looks like random base64 or hexadecimal digits.
  private static func isRandom(_ word: String) -> Bool {
    let bytes = word.utf8
    guard bytes.count >= minimumLength, bytes.allSatisfy({ ASCII.isLetterOrDigit($0) || "+=_-".utf8.contains($0) })
    else {
      return false
    }
    let digits = bytes.count(where: ASCII.isDigit)
    let lower = bytes.count { $0 >= 0x61 && $0 <= 0x7A }
    let upper = bytes.count { $0 >= 0x41 && $0 <= 0x5A }
    if min(digits, lower, upper) >= 2 { return true }
    return bytes.count >= minimumHexadecimalLength && digits > 0
      && bytes.allSatisfy { ASCII.isDigit($0) || ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x66 }
  }
}
