@_spi(SecretBytes) package import Credentials
package import Policy
internal import System
package import TLS

/// One whole request to an authorization server, head and body, in locked memory: for exactly one endpoint, over a session
/// that proved what this endpoint's trust asks for. HTTP/1.1, POST, with Host, Content-Length and
/// `Accept: application/json`; no cookies, no redirects.
package struct TokenRequest: ~Copyable {
  package enum Purpose: Sendable, Equatable {
    /// An access token, by the grant of the source. Needs its secrets; with `.refreshToken` the one to ask with, stored or first.
    case token
    /// Begins a login from another device, at `deviceAuthorization` (RFC 8628 section 3.1).
    case deviceAuthorization
    /// Asks whether the person has logged in there (section 3.4). Needs `.deviceCode`.
    case deviceToken
    /// Ends a browser's login (RFC 6749 section 4.1.3, RFC 7636 section 4.5). Needs `.code` and `.codeVerifier`.
    case code(redirectURI: String)
    /// Takes a token back, at `revocation` (RFC 7009). Needs `.revokedToken`.
    case revocation(RevokedToken)
  }

  /// `token_type_hint`.
  package enum RevokedToken: String, Sendable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
  }

  /// What makes one request differ from the next.
  package struct Moment: Sendable {
    /// Seconds since 1970, for `iat` and `exp` of what is signed.
    package let now: Int64
    /// At least 16 random bytes, for each request new ones: `jti`.
    package let nonce: [UInt8]

    package init(now: Int64, nonce: [UInt8]) {
      self.now = now
      self.nonce = nonce
    }
  }

  /// Where it may go.
  package let endpoint: Endpoint
  private let trust: TrustPolicy
  private let bytes: Secret

  /// Fails in one sentence with what to do: a secret or endpoint that is missing, a key that cannot sign, no memory.
  package static func render(
    _ source: TokenSource, _ purpose: Purpose, _ secrets: TokenSecrets, at moment: Moment, in arena: SecretArena
  ) throws(SecretProblem) -> TokenRequest {
    throw SecretProblem("not yet")
  }

  /// The only way out: writes all of it, if the session was opened for this endpoint's origin and trust, for no credential, and
  /// if its proof holds. Nothing is sent otherwise. `sessionFailed`: the connection is of no use any more.
  /// - Parameter now: seconds since 1970.
  package borrowing func send(over session: inout VerifiedSession, now: Int64) throws(Denied) {
    throw Denied(reason: .unavailable, detail: "not yet")
  }
}
