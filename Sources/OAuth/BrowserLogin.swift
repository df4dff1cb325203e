@_spi(SecretBytes) package import Credentials

/// One login by a browser: authorization code with PKCE (RFC 6749 section 4.1, RFC 7636), from the URL that the browser opens to
/// the code that it brings back. Of one use.
package struct BrowserLogin: ~Copyable {
  package enum Verdict: ~Copyable {
    /// The code, for `TokenRequest.Purpose.code`, together with `codeVerifier()`.
    case code(Secret)
    /// It is over: a sentence for the person.
    case refused(String)
    /// It is none of ours (another path, or another `state`): 404 or 400, and the login goes on waiting.
    case stranger(String)
  }

  /// - Parameters:
  ///   - redirectURI: `http://127.0.0.1:PORT/callback` (RFC 8252 section 7.3).
  ///   - random: 64 random bytes, of which `state` and the verifier are made. The caller wipes them.
  package init(
    _ source: TokenSource, redirectURI: String, random: Span<UInt8>, in arena: SecretArena
  ) throws(SecretProblem) {
    throw SecretProblem("not yet")
  }

  /// What the browser opens.
  package let url: String
  package let redirectURI: String

  /// What a browser has asked for at the redirect URI's address: the target of its GET (origin-form).
  package mutating func judge(_ target: Span<UInt8>, in arena: SecretArena) -> Verdict { .stranger("not yet") }

  /// A copy, for `TokenSecrets.Role.codeVerifier`.
  package borrowing func codeVerifier(in arena: SecretArena) throws(SecretProblem) -> Secret {
    throw SecretProblem("not yet")
  }
}
