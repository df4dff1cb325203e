@_spi(SecretBytes) package import Secrets
internal import Settings
internal import System

// Only this module can move the tokens out of these noncopyable types.

extension TokenGrant {
  package consuming func unpack(access: inout Secret?, refresh: inout Secret?) {
    access = consume accessToken
    refresh = consume refreshToken
  }
}

extension StoredLogin {
  /// Adds the stored refresh token to the secrets of a request, in place of the configured first token.
  package consuming func put(into secrets: TokenSecrets) {
    if let token = consume token { secrets.put(.refreshToken, token) }
  }

  package consuming func withdraw() -> Secret? { consume token }

  /// Returns a stored access token as a new grant. `nil` if there is none, or if it has expired.
  /// - Parameter now: seconds since 1970.
  package consuming func grant(now: Int64) -> TokenGrant? {
    guard case .accessToken(let end) = kind, let token = consume token else { return nil }
    guard let end else { return TokenGrant(accessToken: token, refreshToken: nil, lifetime: nil, remark: nil) }
    let (remaining, overflows) = end.subtractingReportingOverflow(now)
    guard !overflows, remaining > 0, remaining < Int64.max / 1000 else { return nil }
    return TokenGrant(accessToken: token, refreshToken: nil, lifetime: UInt64(remaining) * 1000, remark: nil)
  }
}

extension DeviceAuthorization {
  package borrowing func put(into secrets: TokenSecrets, in arena: SecretArena) throws(SecretProblem) {
    secrets.put(.deviceCode, try deviceCode.copy(in: arena))
  }
}

extension BrowserLogin {
  /// Adds a copy of the code verifier, and the code of the callback, to the secrets of a request.
  package borrowing func put(
    _ code: consuming Secret, into secrets: TokenSecrets, in arena: SecretArena
  ) throws(SecretProblem) {
    secrets.put(.codeVerifier, try codeVerifier(in: arena))
    secrets.put(.code, code)
  }
}

extension Secret {
  package borrowing func copy(in arena: SecretArena) throws(SecretProblem) -> Secret {
    do throws(SystemError) {
      return try withBytes { (bytes) throws(SystemError) in try Secret.copy(of: bytes, in: arena) }
    } catch {
      throw .noMemory
    }
  }
}

extension TokenSecrets {
  /// Whether the server has granted the same refresh token that the request contained.
  package func matchesRefreshToken(_ refreshToken: borrowing Secret) -> Bool {
    refreshToken.withBytes { granted in
      withBytes(of: .refreshToken) { $0.elementsEqual(granted) } ?? false
    }
  }
}
