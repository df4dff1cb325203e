@_spi(SecretBytes) package import Secrets
internal import System

// Grants and stored tokens, taken apart by their holder: no other module can.

extension TokenGrant {
  /// Puts both tokens where they are held from now on.
  package consuming func take(access: inout Secret?, refresh: inout Secret?) {
    access = consume accessToken
    refresh = consume refreshToken
  }
}

extension StoredLogin {
  /// The request is to be made with this refresh token, whatever the configured first one is.
  package consuming func put(into secrets: TokenSecrets) {
    switch consume token {
    case .some(let token): secrets.put(.refreshToken, token)
    case .none: break
    }
  }

  /// The stored token, to be revoked; nil: the file says that the login has ended.
  package consuming func withdraw() -> Secret? { consume token }

  /// The rest of a stored access token, as if it had been granted now; nil: it has expired, or another kind is stored.
  /// - Parameter now: seconds since 1970.
  package consuming func grant(now: Int64) -> TokenGrant? {
    guard case .accessToken(let end) = kind, let token = consume token else { return nil }
    guard let end else { return TokenGrant(accessToken: token, refreshToken: nil, lifetime: nil, remark: nil) }
    let (left, isTooMuch) = end.subtractingReportingOverflow(now)
    guard !isTooMuch, left > 0, left < Int64.max / 1000 else { return nil }
    return TokenGrant(accessToken: token, refreshToken: nil, lifetime: UInt64(left) * 1000, remark: nil)
  }
}

extension DeviceAuthorization {
  /// The request asks with a copy of it.
  package borrowing func put(into secrets: TokenSecrets, in arena: SecretArena) throws(SecretProblem) {
    secrets.put(.deviceCode, try deviceCode.copy(in: arena))
  }
}

extension BrowserLogin {
  /// Puts a copy of what proves that the login is ours, and the code that came back, where the request finds them.
  package borrowing func put(
    _ code: consuming Secret, into secrets: TokenSecrets, in arena: SecretArena
  ) throws(SecretProblem) {
    secrets.put(.codeVerifier, try codeVerifier(in: arena))
    secrets.put(.code, code)
  }
}

extension Secret {
  /// Another one with the same bytes, for the writing down of what is in use already.
  package borrowing func copy(in arena: SecretArena) throws(SecretProblem) -> Secret {
    do throws(SystemError) {
      var copy = try Secret(capacity: count, in: arena)
      try withBytes { (bytes) throws(SystemError) in try copy.append(bytes) }
      return copy
    } catch {
      throw .noMemory
    }
  }
}

extension TokenSecrets {
  /// Whether a server has granted the refresh token again that it was asked with.
  package func isAskedWith(_ refreshToken: borrowing Secret) -> Bool {
    refreshToken.withBytes { granted in
      withBytes(of: .refreshToken) { $0.elementsEqual(granted) } ?? false
    }
  }
}
